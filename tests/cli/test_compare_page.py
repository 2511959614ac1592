"""The page of a comparison, its gates, and what it refuses."""

import json
from types import SimpleNamespace

import pytest
from comparing import add_run, add_work
from database import write_database
from rich.cells import cell_len

from tracekit.cli import gate, waterfall


def plain(con, run):
    """Ten steps around 10 ms, one token each."""
    add_run(con, run, [10_000, 10_100, 9_900, 10_050, 9_950] * 2)
    for step in range(10):
        add_work(con, run, step, "forward", gemm=6_000, all_reduce=3_000)


def drafted(con, run):
    """Ten steps around 15 ms that give two tokens each."""
    speculation = {"speculative_method": "eagle3", "num_speculative_tokens": 1}
    add_run(con, run, [15_000, 15_100, 14_900, 15_050, 14_950] * 2, 2, **speculation)
    for step in range(10):
        add_work(con, run, step, "verify", gemm=8_000, all_reduce=4_000)
        add_work(con, run, step, "draft", gemm=1_000)
    con.execute("UPDATE step SET is_verify = true WHERE run = ?", [run])


def again(con, run):
    """The plain run once more, a trifle slower: nobody can tell."""
    add_run(con, run, [10_010, 10_110, 9_910, 10_060, 9_960] * 2)


def untold(con, run):
    """Drafts of which nothing tells how many are accepted."""
    add_run(con, run, [10_000] * 10, None)


def stalled(con, run):
    """The plain run once more and longer, with steps that take five times as long."""
    times = [10_000, 10_100, 9_900, 10_050, 9_950] * 10
    add_run(con, run, [50_000 if step % 12 == 5 else time for step, time in enumerate(times)])


def elsewhere(con, run):
    """Another machine."""
    add_run(con, run, [10_000] * 10, gpu="A100")


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "pair.duckdb"
    return write_database(path, plain, drafted, again, elsewhere, untold, stalled)


def test_page(call, pair):
    assert (
        call("compare", "plain", "drafted", database=pair).stdout
        == """\
decode, 1 request plain drafted ratio          95 %
steps                10      10
step, median ms   10.00   15.00 1.500 1.487 - 1.513
tokens/step        1.00    2.00
ms/token          10.00    7.50 0.750 0.745 - 0.754
tok/s             100.0   133.3 1.333 1.325 - 1.342
drafted is 1.333x faster per emitted token.
1 run each; a step is one sample, drawn in blocks of 1 and 1. What differs from
run to run takes repeats on both sides.

from base to other, ms/step            ms/token
plain                                     10.00 ##########################
  one target pass: 1.00 -> 2.00 tokens    -5.00              #############
  verify: GEMM 6.00 -> 8.00               +1.00              ###
  draft 0.00 -> 1.00                      +0.50                 #
  verify: AllReduce 3.00 -> 4.00          +0.50                  #
  overlap 0.90 -> 1.90                    +0.50                   ##
  idle and host 0.10                       0.00                     |
drafted                                    7.50 ####################

same: model, tensor parallel, GPU, data parallel, ranks traced, engine, profiler
options, traces
differs: speculative decoding off -> eagle3, K=1
Next:
  tracekit breakdown plain    its steps in full
  tracekit breakdown drafted  its steps in full
"""
    )


@pytest.mark.parametrize("columns", [80, 120])
def test_the_page_fits(call, pair, columns):
    for line in call("compare", "plain", "drafted", database=pair, columns=columns).stdout.split(
        "\n"
    ):
        assert cell_len(line) <= columns, line
        assert line == line.rstrip()


def test_a_difference_that_may_be_chance_says_what_would_tell(call, pair):
    page = call("compare", "plain", "again", database=pair).stdout
    assert "Cannot tell which is faster: " in page
    assert " more steps would tell, if they differ as it seems now." in page.replace("\n", " ")


def test_runs_of_different_machines_are_refused_unless_asked(call, pair):
    refused = call("compare", "plain", "elsewhere", database=pair, exit_code=1)
    assert refused.stdout == ""
    assert refused.stderr == (
        "plain, elsewhere: not comparable: GPU H200 -> A100; --anyway compares them all the same\n"
    )
    page = call("compare", "plain", "elsewhere", "--anyway", database=pair).stdout
    assert "differs, and may be the reason: GPU H200 -> A100" in page


def test_a_run_is_not_compared_with_itself(call, pair):
    result = call("compare", "plain", "pla*", database=pair, exit_code=1)
    assert result.stderr == "plain: it is on both sides; compare it with another run\n"


def test_runs_by_pattern_and_by_names(call, pair):
    by_names = call("compare", "again,plain", "drafted", database=pair).stdout
    assert by_names == call("compare", "[pa]*[!e]", "drafted", database=pair).stdout
    assert "base (2 runs)" in by_names
    result = call("compare", "plain,none*", "drafted", database=pair, exit_code=1)
    assert result.stderr.startswith("none*: no such run")


def test_nothing_in_common_is_an_error_not_a_pass(call, pair):
    words = ("compare", "plain", "drafted", "--batch", "4", "--gate", "step_ms<=99")
    result = call(*words, database=pair, exit_code=1)
    assert "no step of 4 requests that both have" in result.stderr


@pytest.mark.parametrize(
    ("other", "expression", "words", "exit_code"),
    [
        ("drafted", "ms_per_token<=+3%", (), 0),
        ("drafted", "ms_per_token<=-30%", (), 3),
        ("drafted", "step_ms <= 12.5", (), 3),
        ("drafted", "tokens_per_s>=130", (), 0),
        ("again", "ms_per_token<=+0.1%", (), 0),
        ("again", "ms_per_token<=+0.1%", ("--strict",), 3),
        ("again", "tokens_per_s>=-2%", ("--strict",), 0),
    ],
)
def test_gates(call, pair, other, expression, words, exit_code):
    result = call(
        "compare", "plain", other, "--gate", expression, *words, database=pair, exit_code=exit_code
    )
    assert f"gate {expression}: " in result.stdout
    assert (f"{expression}: fails, " in result.stderr) is (exit_code == 3 and not words)
    assert ("cannot tell" in result.stderr) is (other == "again" and expression.startswith("ms"))


def test_what_stalled_steps_decide_is_no_verdict_and_fails_no_gate(call, pair):
    words = ("compare", "plain", "stalled", "--gate", "ms_per_token<=+0.01%")
    result = call(*words, database=pair)
    page = " ".join(result.stdout.split())
    assert "4 steps of stalled stalled (up to 50.00 ms, median 10.00 ms); without" in page
    assert "takes 1.000x as long per emitted token" in page
    assert "gate ms_per_token<=+0.01%: cannot tell, +32.0 %" in page


def test_a_gate_that_is_none_is_wrong_usage(call, pair):
    for expression in ("ms_per_token<3", "speed<=3%", "step_ms<=", "step_ms<=.", ""):
        words = ("compare", "plain", "drafted", "--gate", expression)
        result = call(*words, database=pair, exit_code=2)
        assert "write METRIC<=LIMIT" in result.stderr


@pytest.mark.parametrize("expression", ["step_ms<=-5", "ms_per_token<=-100%", "step_ms<=0"])
def test_a_gate_that_nothing_can_hold_is_wrong_usage(call, pair, expression):
    words = ("compare", "plain", "drafted", "--gate", expression)
    assert "nothing is below 0" in call(*words, database=pair, exit_code=2).stderr


def test_limits_of_gates_may_leave_out_a_zero():
    assert gate.parse("step_ms<=.5").limit == 0.5
    assert gate.parse("ms_per_token<=+2.%").limit == pytest.approx(1.02)


def test_without_tokens_the_page_is_about_steps(call, pair):
    page = call("compare", "plain", "untold", database=pair).stdout
    assert "tokens/step" not in page
    assert "ms/step" in page
    assert "Cannot tell which is faster: tokens of a step are not known" in page
    words = ("compare", "plain", "untold", "--gate", "ms_per_token<=+3%")
    assert "is not known; use step_ms" in call(*words, database=pair, exit_code=1).stderr


def figures(low, high, name="ratio"):
    interval = {name: 1, f"{name}_low": low, f"{name}_high": high}
    return SimpleNamespace(basis="token", base_stalled=0, other_stalled=0, **interval)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.98, 1.03, "holds"),
        (0.98, 1.04, "cannot tell"),
        (1.04, 1.05, "fails"),
        (None, None, "cannot tell"),
    ],
)
def test_a_gate_fails_where_the_whole_interval_is_beyond_it(low, high, verdict):
    judged = gate.judge(gate.parse("ms_per_token<=+3%"), figures(low, high))
    assert judged.verdict == verdict


def test_a_gate_that_stalled_steps_decide_neither_holds_nor_fails():
    row = figures(1.04, 1.05)
    row.other_stalled, row.steady_ratio_low, row.steady_ratio_high = 1, 0.99, 1.01
    judged = gate.judge(gate.parse("ms_per_token<=+3%"), row)
    assert (judged.verdict, judged.is_decided_by_stalls) == ("cannot tell", True)
    assert gate.words(judged).endswith("; stalled steps decide it")
    row.steady_ratio_low, row.steady_ratio_high = 1.04, 1.05
    assert gate.judge(gate.parse("ms_per_token<=+3%"), row).verdict == "fails"


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.98, 1.03, "holds"), (0.97, 1.04, "cannot tell"), (0.9, 0.97, "fails")],
)
def test_a_gate_from_below(low, high, verdict):
    judged = gate.judge(gate.parse("tokens_per_s>=-2%"), figures(low, high, "speedup"))
    assert judged.verdict == verdict


def test_json_has_everything(call, pair):
    words = ("--format", "json", "--gate", "ms_per_token<=+3%")
    found = json.loads(call("compare", "plain", "drafted", *words, database=pair).stdout)
    assert list(found) == ["headline", "waterfall", "kernels", "context", "gates"]
    assert found["headline"][0]["verdict"] == "faster"
    assert found["waterfall"][0]["to_ns"] == 10_000_000
    assert found["gates"][0]["verdict"] == "holds"
    assert found["gates"][0]["high"] < 1.03


def test_csv_has_a_row_for_each_batch_size(call, pair):
    heading, *rows = call(
        "compare", "plain", "drafted", "--format", "csv", database=pair
    ).stdout.splitlines()
    assert heading.startswith("kind,batch,is_main,")
    assert len(rows) == 1


def test_names_from_a_trace_cannot_talk_to_the_terminal(call, tmp_path):
    def hostile(con, run):
        add_run(con, run, [10_000] * 8, model="\x1b[31mred")

    path = write_database(tmp_path / "hostile.duckdb", plain, hostile)
    result = call("compare", "plain", "hostile", "--anyway", database=path)
    assert "\x1b[31m" not in result.stdout
    assert "\\x1b[31mred" in result.stdout


def told(**row):
    names = ("experts", "base_experts", "other_experts", "base_all_reduce_ns", "part", "base_impl")
    more = ("other_all_reduce_ns", "other_impl", "base_bytes", "other_bytes")
    return waterfall.causes(SimpleNamespace(**{**dict.fromkeys((*names, *more)), **row}))


@pytest.mark.parametrize(
    ("row", "causes"),
    [
        (
            {"experts": 384, "base_experts": 8.0, "other_experts": 30.6},
            ["8 -> 31 of 384 experts touched, with even routing"],
        ),
        ({"experts": 384, "base_experts": 8.0}, []),
        ({"other_all_reduce_ns": 330_000}, ["of it AllReduce 0.00 -> 0.33"]),
        (
            {"base_impl": "nccl", "other_impl": "nccl", "base_bytes": 14336, "other_bytes": 57344},
            ["message 14 KiB -> 56 KiB, same implementation (nccl)"],
        ),
        (
            {"base_impl": "custom_1stage", "other_impl": "nc\x1b"},
            ["implementation custom_1stage -> nc\\x1b"],
        ),
        ({"base_impl": "nccl", "other_impl": "nccl", "part": "waiting"}, []),
    ],
)
def test_a_bar_names_its_cause(row, causes):
    assert told(**row) == causes


@pytest.mark.parametrize("empty", ["", ","])
def test_a_name_of_nothing_is_named_as_such(call, pair, empty):
    result = call("compare", "plain", empty, database=pair, exit_code=1)
    assert result.stderr.startswith("'': no such run in ")


def test_two_runs_a_side_that_tell_nothing_are_too_few(call, tmp_path):
    def fill(con, _name):
        for name, time in (("a1", 10_000), ("a2", 30_000), ("b1", 11_000), ("b2", 33_000)):
            add_run(con, name, [time] * 9, speculative_method="ngram" if name == "b2" else None)

    path = write_database(tmp_path / "x.duckdb", fill)
    page = call("compare", "a*", "b*", database=path).stdout
    assert "Cannot tell which is faster: too few runs: 2 on a side, take 3 or more." in page
    assert "runs of one side differ, so they are no repeats: speculative decoding\n" in page
