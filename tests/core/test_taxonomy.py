import os
from collections import Counter
from pathlib import Path

import pytest
from database import memory_database
from name_classes import classes

from tracekit.errors import TaxonomyError
from tracekit.rules import builtin_document, builtin_rules, exact_names, find_rule, read_rules
from tracekit.taxonomy import (
    check_patterns,
    classify,
    load_collective_categories,
    load_no_work,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture
def con():
    with memory_database() as connection:
        connection.execute("CREATE TEMP TABLE device_event (name VARCHAR, collective VARCHAR)")
        yield connection


INSERT = {
    "op": "INSERT INTO host_op VALUES ('r', 0, 1, 0, 0, ?, NULL)",
    "scope": "INSERT INTO scope VALUES ('r', 0, false, 1, 0, 0, ?)",
    "kernel": "INSERT INTO device_event VALUES (?, NULL)",
}


def add_events(con, *events):
    for kind, name in events:
        con.execute(INSERT[kind], [name])


def classified(con, name, user_rules=None):
    add_events(con, ("kernel", name))
    classify(con, "r", user_rules)
    return con.execute("SELECT category, impl FROM kernel WHERE name = ?", [name]).fetchone()


def user_file(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


def test_every_rule_wins_its_own_examples(con):
    rules = builtin_rules()
    expected = {example: rule.label for rule in rules for example in rule.examples}
    got = classes(con, list(expected), rules)
    assert {name: rule for name, (_, rule) in got.items()} == expected


def flags(con, name):
    add_events(con, ("kernel", name))
    classify(con, "r")
    return con.execute("SELECT is_fused, is_tail FROM kernel WHERE name = ?", [name]).fetchone()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("void flashinfer::trtllm_mnnvl_allreduce::twoshotAllreduceKernel<8>(", (False, False)),
        ("void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<8>(", (True, True)),
        ("void flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<", (True, False)),
        ("aiter::reduce_scatter_cross_device_store<bf16>", (False, False)),
        ("aiter::local_device_load_rmsnorm<bf16>", (True, True)),
        ("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", (False, False)),
        ("qwertzuiop_kernel", (False, False)),
    ],
)
def test_fused_collectives_and_the_second_kernel_of_split_ones_are_told(con, name, expected):
    assert flags(con, name) == expected


def test_a_flag_is_true_or_false(con, tmp_path):
    rules = user_file(tmp_path, '[[rule]]\ncategory = "norm"\npattern = "x"\ntail = "yes"\n')
    with pytest.raises(TaxonomyError, match=r"rule 1: tail is not a truth value; write true"):
        classify(con, "r", rules)


def test_every_rule_has_an_example_and_a_source():
    assert [rule.label for rule in builtin_rules() if not (rule.examples and rule.source)] == []


def test_rule_labels_are_unique():
    labels = Counter(rule.label for rule in builtin_rules())
    assert [label for label, n in labels.items() if n > 1] == []


def test_patterns_match_neither_nothing_nor_a_made_up_name(con):
    names = ["", "x", "qwertzuiop_kernel", "void foo::Bar<int, 8>(int*, float const*)"]
    assert {category for category, _ in classes(con, names, builtin_rules()).values()} == {
        "unknown"
    }


def test_exact_names_have_known_categories_and_occur_once():
    names = Counter(rule.name for rule in exact_names())
    assert max(names.values()) == 1
    assert {rule.category for rule in exact_names()} <= set(builtin_document()["categories"])


def test_exact_names_are_only_those_the_rules_miss(con):
    exact = {rule.name: rule.category for rule in exact_names()}
    by_rules = classes(con, list(exact), builtin_rules())
    assert [name for name, category in exact.items() if by_rules[name][0] == category] == []


@pytest.mark.parametrize(
    "name",
    [
        "_rejection_kernel",
        "_rejection_kernel.kd",
        "rejection_greedy_sample_kernel_0d1d2d3de4de",
    ],
)
def test_rocm_and_old_triton_suffixes_change_nothing(con, name):
    assert classified(con, name) == ("spec_decode", "reject")


def test_exact_name_is_found_with_its_suffixes(con):
    rule = exact_names()[0]
    got = classes(con, [f"{rule.name}.kd", f"{rule.name}_0d1d2d"], exact_names())
    assert set(got.values()) == {(rule.category, "taxonomy_names.tsv")}


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("_sgemm_lora_a_kernel", "lora"),
        ("_fused_moe_lora_kernel", "lora"),
        ("void gemma_rmsnorm_kernel<8>(float*)", "norm"),
        ("_gemma4_routing_kernel", "moe_route"),
        ("void flashinfer::norm::RMSNormKernel<1u, __nv_bfloat16>(", "norm"),
        (
            "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<",
            "attention",
        ),
        (
            "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int> > >",
            "gemm",
        ),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float>(", "gemm"),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, MeanOps<", "reduce"),
        ("_sparse_attn_decode_reduce_kernel", "attention"),
        ("_paged_prefill_kernel", "attention"),
        ("void vllm::moe::grouped_topk_fused_kernel<float>(", "moe_route"),
        ("void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(", "sampling"),
        ("void vllm::topKPerRowPrefill<512, true>(float const*", "attention"),
        ("void fbgemm_gpu::permute_2D_data_kernel<false>(", "embedding"),
    ],
)
def test_words_that_mean_several_things(con, name, category):
    assert classified(con, name)[0] == category


@pytest.mark.parametrize("namespace", ["(anonymous namespace)", "<unnamed>"])
def test_both_demanglers_name_the_same_class(con, namespace):
    name = f"void {namespace}::multimem_all_reduce_kernel<c10::BFloat16, 16>("
    assert classified(con, name) == ("all_reduce", "symm_mem_multimem")


def test_name_cut_before_it_says_anything_is_unknown(con):
    assert classified(con, "void (anonymous") == ("unknown", None)


def test_marlin_arguments_are_decoded_into_the_table(con):
    bf16, u4b8 = 1125899906909960, 1125899907892224
    name = (
        f"void marlin_moe_wna16::Marlin<{bf16}l, {u4b8}l, {bf16}l, {bf16}l, "
        "256, 4, 16, 4, false, 4, 2, false>(int4 const*)"
    )
    assert classified(con, name) == ("moe_gemm", "marlin_moe")
    row = con.execute("SELECT weight_type, group_size, tile FROM kernel").fetchone()
    assert row == ("u4b8", 32, "64x256x64")


def test_gpu_run_has_only_device_names(con):
    add_events(con, ("op", "aten::mm"), ("scope", "gloo:all_reduce"), ("kernel", "Memset (Device)"))
    classify(con, "r")
    assert con.execute("SELECT run, name FROM kernel").fetchall() == [("r", "Memset (Device)")]


def test_cpu_run_has_ops_and_gloo_spans(con):
    add_events(
        con,
        ("op", "_C::onednn_mm"),
        ("op", "_C::shm_allreduce"),
        ("op", "_C::rejection_greedy_sample_kernel_impl"),
        ("scope", "gloo:all_reduce"),
        ("scope", "gpu_model_runner: draft"),
    )
    classify(con, "r")
    assert con.execute("SELECT name, category, impl FROM kernel ORDER BY name").fetchall() == [
        ("_C::onednn_mm", "gemm", "onednn"),
        ("_C::rejection_greedy_sample_kernel_impl", "spec_decode", "reject"),
        ("_C::shm_allreduce", "all_reduce", "shm"),
        ("gloo:all_reduce", "all_reduce", "gloo"),
    ]


def test_ops_without_work_are_listed_with_their_reason(con):
    add_events(
        con,
        ("op", "aten::item"),
        ("op", "aten::empty_strided"),
        ("op", "aten::slice"),
        ("op", "Torch-Compiled Region: 0/1"),
        ("op", "c10d::allreduce_"),
        ("op", "aten::copy_"),
        ("op", "_C::shm_allreduce"),
        ("scope", "aten::view"),
    )
    classify(con, "r")
    load_no_work(con)
    assert con.execute("SELECT name, reason FROM cpu_no_work ORDER BY name").fetchall() == [
        ("Torch-Compiled Region: 0/1", "wrapper"),
        ("aten::empty_strided", "no_work"),
        ("aten::item", "no_work"),
        ("aten::slice", "no_work"),
        ("c10d::allreduce_", "enqueue"),
    ]


def test_collective_argument_tells_the_category(con):
    for collective in (
        "allreduce",
        "_allgather_base",
        "nccl:all_to_all",
        "reduce_scatter",
        "?",
        None,
    ):
        con.execute("INSERT INTO device_event VALUES ('k', ?)", [collective])
    load_collective_categories(con)
    rows = con.execute(
        "SELECT collective, category FROM collective_category ORDER BY ALL"
    ).fetchall()
    assert rows == [
        ("_allgather_base", "all_gather"),
        ("allreduce", "all_reduce"),
        ("nccl:all_to_all", "all_to_all"),
        ("reduce_scatter", "reduce_scatter"),
    ]


def test_collective_categories_are_categories():
    document = builtin_document()
    assert set(document["collective"]) <= set(document["categories"])


def test_user_rule_goes_first(con, tmp_path):
    path = user_file(
        tmp_path, "[[rule]]\ncategory = 'other'\nimpl = 'mine'\npattern = '^fused_moe'"
    )
    assert classified(con, "fused_moe_kernel", path) == ("other", "mine")
    assert con.execute("SELECT rule FROM kernel").fetchone() == ("mine.toml: ^fused_moe",)


def test_label_of_a_built_in_rule_leads_back_to_it(con):
    classified(con, "fused_moe_kernel")
    (label,) = con.execute("SELECT rule FROM kernel").fetchone()
    assert find_rule(label).category == "moe_gemm"
    assert find_rule("mine.toml: ^fused_moe") is None


def test_hostile_name_is_only_data(con):
    name = "'; DROP TABLE kernel; --\n<script>" + "x" * 100_000
    assert classified(con, name) == ("unknown", None)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[[rule]]\ncategory = 'gemm'\npattern = 'a('", "mine.toml: rule 1: pattern 'a('"),
        ("[[rule]]\ncategory = 'gemm'\npattern = 'a(?!b)'", "use RE2"),
        ("[[rule]]\ncategory = 'gem'\npattern = 'a'", "unknown category 'gem'; use all_reduce, "),
        ("[[rule]]\ncategory = 'unknown'\npattern = 'a'", "unknown category 'unknown'"),
        ("[[rule]]\ncategory = 'gemm'", "mine.toml: rule 1: no pattern"),
        ("[[rule]]\npattern = 'a'", "mine.toml: rule 1: no category"),
        ("[[rule]]\ncategory = 'gemm'\npattern = 7", "pattern is not text"),
        ("[[rule]]\ncategory = 'gemm'\npatern = 'a'", "unknown key 'patern'"),
        ("[[rule]]\ncategory='gemm'\npattern='a'\nexamples='a'", "examples is not a list"),
        ("[[rule]]\ncategory='gemm'\npattern='^b'\nexamples=['ab']", "its example 'ab'"),
        ("rule = [1]", "rule 1: not a table"),
        ("category = 'gemm'", "no [[rule]]"),
        ("[[rule]\n", "not TOML"),
    ],
)
def test_faulty_user_rules_name_file_rule_and_fault(con, tmp_path, text, fault):
    path = user_file(tmp_path, text)
    with pytest.raises(TaxonomyError, match="mine.toml: ") as error:
        check_patterns(con, read_rules(path))
    assert fault in str(error.value)


def test_missing_user_file_is_named(tmp_path):
    with pytest.raises(TaxonomyError, match="absent.toml"):
        read_rules(tmp_path / "absent.toml")


def test_a_pipe_a_device_or_a_trace_is_no_file_of_rules(tmp_path):
    pipe, trace = tmp_path / "pipe", tmp_path / "trace.json"
    os.mkfifo(pipe)
    trace.touch()
    os.truncate(trace, 5_000_000)
    for path in (pipe, trace, Path("/dev/zero"), tmp_path):
        with pytest.raises(TaxonomyError, match="not a file of at most 4 MB"):
            read_rules(path)


def test_binary_user_file_is_refused(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(TaxonomyError, match="not TOML"):
        read_rules(path)
