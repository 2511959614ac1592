"""How kernel names are shortened on pages."""

from types import SimpleNamespace

import pytest

from tracekit.cli import names, table


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (
            "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, int)",
            "vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>",
        ),
        (
            "std::enable_if<(((8)>(0)))&&vllm::ok<Half>, void>::type vllm::norm<Half, 8>(int)",
            "vllm::norm<Half, 8>",
        ),
        (
            "void (anonymous namespace)::multimem_all_reduce_kernel<float>(int, unsigned long)",
            "(anonymous namespace)::multimem_all_reduce_kernel<float>",
        ),
        (
            "void at::native::copy_kernel<4, f(int)::{lambda(int)#1}>(f(int)::{lambda(int)#1})",
            "at::native::copy_kernel<4, f(int)::{lambda(int)#1}>",
        ),
        (
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
        ),
        ("Memcpy DtoH (Device -> Pinned)",) * 2,
        ("nvjet_tst_64x8_64x16_4x2_h_bz_TNT",) * 2,
        ("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bE",) * 2,
        ("aten::copy_",) * 2,
        ("void ",) * 2,
        (")",) * 2,
        ("()",) * 2,
        ("f)(",) * 2,
        ("",) * 2,
    ],
)
def test_what_a_kernel_returns_and_takes_is_left_out(name, shown):
    assert names.of_kernel(name) == shown


def test_marlin_is_told_by_weights_and_tile():
    known = SimpleNamespace(weight_type="u4b8", group_size=32, tile="16x128x128")
    name = "void marlin_moe_wna16::Marlin<1125899906909960, 1125899907892224>(int4 const*)"
    shown = names.of_kernel(name, known)
    assert shown == "marlin_moe_wna16::Marlin<u4b8, group 32, tile 16x128x128>"
    known.group_size = -1
    assert "per channel" in names.of_kernel(name, known)


@pytest.mark.parametrize("width", range(1, 30))
@pytest.mark.parametrize("text", ["abcdefghij" * 4, "カーネル" * 10, "aカ" * 20])
def test_shortened_text_fits_and_keeps_both_ends(text, width):
    short = table.shorten(text, width)
    assert table.cell_len(short) <= width
    assert "…" in short
    if width > 12:
        assert short[0] == text[0]
        assert short[-1] == text[-1]


def test_visible_leaves_ordinary_text_alone():
    assert table.visible("naïve カーネル <b> [x]") == "naïve カーネル <b> [x]"
    assert table.visible("a\tb\x7f\u2028") == "a\\tb\\x7f\\u2028"
