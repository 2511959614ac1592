import pytest

from tracekit.marlin import Marlin, decode, scalar_type

BF16, U4B8, U8B128, FP4 = (
    1125899906909960,
    1125899907892224,
    1125899923621888,
    562949953487106,
)
E8M0 = 2814749767106568


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(
            f"void marlin_moe_wna16::Marlin<{BF16}l, {U4B8}l, {BF16}l, {BF16}l, "
            "256, 4, 16, 4, false, 4, 2, false>(int4 const*)",
            Marlin("u4b8", 32, "64x256x64"),
            id="0.12: int4 group 32",
        ),
        pytest.param(
            f"void marlin_moe_wna16::Marlin<{BF16}l, {FP4}l, {BF16}l, {E8M0}l, "
            "128, 1, 8, 4, true, 4, 2, false>(int4 const*, int4 const*)",
            Marlin("fp4_e2m1", 32, "8x128x64"),
            id="0.12: MXFP4 decode tile of 8 rows",
        ),
        pytest.param(
            f"void marlin::Marlin<__nv_bfloat16, {U8B128}l, {BF16}l, "
            "128, 1, 4, 8, true, 4, -1, false>(int4 const*)",
            Marlin("u8b128", -1, "8x64x128"),
            id="0.10: scale type, one scale per channel",
        ),
        pytest.param(
            f"void marlin::Marlin<half, {U4B8}l, 256, 2, 16, 4, false, 4, 8, false>(int4 const*)",
            Marlin("u4b8", 128, "32x256x64"),
            id="0.9: no scale type",
        ),
        pytest.param(
            f"void marlin::Marlin<(long){BF16}, (long){U4B8}, (long){BF16}, (long){BF16}, "
            "(int)128, (int)1, (int)8, (int)4, (bool)1, (int)4, (int)2, (bool)0>(const int4 *)",
            Marlin("u4b8", 32, "8x128x64"),
            id="nsys and ncu dialect",
        ),
        pytest.param(
            f"_ZN17marlin_moe_wna166MarlinILl{BF16}ELl{U4B8}ELl{BF16}ELl{BF16}E"
            "Li128ELi1ELi8ELi4ELb1ELi4ELin1ELb0EEEvPK4int4",
            Marlin("u4b8", -1, "8x128x64"),
            id="mangled",
        ),
        pytest.param(
            f"_ZN6marlin6MarlinI13__nv_bfloat16Ll{U4B8}E"
            "Li256ELi2ELi16ELi4ELb0ELi4ELi0ELb0EEEvPK4int4",
            Marlin("u4b8", None, "32x256x64"),
            id="mangled with a C++ type; act-order has no group size in the name",
        ),
    ],
)
def test_marlin_name_tells_weights_and_tile(name, expected):
    assert decode(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "marlin::MarlinDefault(int4 const*, int4 const*)",
        "void marlin::Marlin<1125899906909960l, 1125899907892224l, 11258",
        "void marlin::Marlin<1, 2, 3>(int4 const*)",
        "void marlin::Marlin<half, T, 256, 2, 16, 4, false, 4, 8, false>(int4 const*)",
        "void marlin::gptq_marlin_repack_kernel<256, 8, true>(unsigned int const*)",
        "fused_moe_kernel",
    ],
)
def test_other_names_have_no_marlin_arguments(name):
    assert decode(name) is None


@pytest.mark.parametrize(
    ("type_id", "name"),
    [
        (BF16, "bf16"),
        (1125899906910725, "fp16"),
        (U4B8, "u4b8"),
        (1125899906843648, "u4"),
        (U8B128, "u8b128"),
        (1125899906909952, "s8"),
        (2814749767172868, "fp8_e4m3fn"),
        (1125899906908677, "fp8_e5m2"),
        (FP4, "fp4_e2m1"),
        (E8M0, "fp8_e8m0fn"),
        (2 | 3 << 8 | 1 << 16, "fp6_e2m3"),
    ],
)
def test_scalar_type_id_is_read_bit_by_bit(type_id, name):
    assert scalar_type(type_id) == name
