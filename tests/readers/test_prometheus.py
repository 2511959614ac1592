import json
from pathlib import Path

import pytest
from database import memory_database
from hypothesis import given
from hypothesis import strategies as st

from tracekit.readers.folder import InputFile
from tracekit.readers.prometheus import moment_of, moments_of_names, parse, read_metrics

VLLM_CPU = Path(__file__).parents[3] / "shared" / "traces" / "vllm_cpu"


@pytest.fixture
def con():
    with memory_database() as con:
        yield con


def read(con, folder, texts):
    """Read `texts` ({name: text}) as the files 0, 1, ... of run r."""
    files = []
    for file_id, (name, text) in enumerate(texts.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        files.append((file_id, InputFile(path, name, "metrics", len(text))))
    read_metrics(con, files, moments_of_names(files), run="r")


def counters(con):
    columns = "file_id, moment, name, labels::VARCHAR, value"
    return con.sql(f"SELECT {columns} FROM counter ORDER BY ALL").fetchall()


def ledger(con):
    columns = "file_id, reason, skipped, example, is_loss"
    return con.sql(f"SELECT {columns} FROM ledger ORDER BY ALL").fetchall()


def test_samples_of_a_pair_become_counters(con, tmp_path):
    read(
        con,
        tmp_path,
        {
            "metrics_before.prom": 'a_total{engine="0"} 3\nb 1.5\n',
            "metrics_after.prom": '# HELP a A.\n# TYPE a counter\na_total{engine="0"} 7.0\n',
        },
    )
    assert counters(con) == [
        (0, "before", "a_total", '{"engine": "0"}', 3.0),
        (0, "before", "b", "{}", 1.5),
        (1, "after", "a_total", '{"engine": "0"}', 7.0),
    ]
    assert ledger(con) == []


def test_labels_come_back_as_they_are(con, tmp_path):
    value = """'; DROP TABLE counter; -- <b> "q" \\ é \u2028 {}"""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    text = f'a{{model="{escaped}"}} 1\n'
    read(con, tmp_path, {"before": text, "after": text})
    assert [json.loads(row[3]) for row in counters(con)] == [{"model": value}] * 2


def test_values_that_no_counter_reaches_go_to_the_ledger(con, tmp_path):
    read(con, tmp_path, {"before": "a 1\nb 2\n", "after": "a 1e30\nb -1e16\n"})
    assert [row[2] for row in counters(con)] == ["a", "b"]
    assert ledger(con) == [(1, "metrics value too large", 2, "a 1e30", True)]


def test_a_counter_of_drafts_that_is_no_number_is_a_loss(con, tmp_path):
    line = "vllm:spec_decode_num_drafts_total NaN"
    read(con, tmp_path, {"before": "a 1\n", "after": f"a 1\n{line}\nx NaN\n"})
    assert ledger(con) == [(1, "counters of drafts are no finite numbers", 1, line, True)]


def test_buckets_and_values_that_are_no_numbers_are_left_out(con, tmp_path):
    text = 't_bucket{le="0.5"} 3\nt_bucket{le="+Inf"} 4\nt_sum 1\nt_count 4\nx NaN\ny +Inf\n'
    read(con, tmp_path, {"before": text, "after": text})
    assert [row[2] for row in counters(con) if row[1] == "after"] == ["t_count", "t_sum"]
    assert ledger(con) == []


def test_line_that_is_none_spoils_no_other(con, tmp_path):
    text = 'a 1\n<html>502 Bad Gateway</html>\nb{x="\nc 2\n'
    read(con, tmp_path, {"before": text, "after": "a 1\r\nc 2\r\n"})
    assert [row[2] for row in counters(con)] == ["a", "c", "a", "c"]
    assert ledger(con) == [
        (0, "metrics line not understood", 2, "<html>502 Bad Gateway</html>", True)
    ]


def test_text_without_its_other_half_is_not_used_but_told(con, tmp_path):
    read(con, tmp_path, {"c1_before.prom": "a 1\n", "c2_after.prom": "a 2\n", "now": "a 3\n"})
    assert counters(con) == []
    reason = "metrics without before or after"
    assert ledger(con) == [(file_id, reason, 1, "a", True) for file_id in (0, 1, 2)]


def test_each_window_is_a_pair_of_its_own(con, tmp_path):
    names = ["metrics/c1_before.prom", "metrics/c1_after.prom", "x/Before.prom", "x/After.prom"]
    read(con, tmp_path, {name: "a 1\n" for name in names})
    assert [row[:2] for row in counters(con)] == [
        (0, "before"),
        (1, "after"),
        (2, "before"),
        (3, "after"),
    ]


def test_huge_text_is_cut(con, tmp_path, monkeypatch):
    monkeypatch.setattr("tracekit.readers.prometheus.MAX_BYTES", 8)
    read(con, tmp_path, {"before": "a 1\nb 2\nc 3\n", "after": "a 1\n"})
    assert [row[2] for row in counters(con)] == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("before.prom", "before"),
        ("metrics_after.prom", "after"),
        ("c4-BEFORE-1.txt", "before"),
        ("thereafter.prom", None),
        ("before_and_after.prom", None),
        ("metrics.prom", None),
    ],
)
def test_moment_is_a_word_of_the_name(name, moment):
    assert moment_of(name) == moment


@given(st.text(max_size=200))
def test_any_text_is_parsed_without_an_error(text):
    found = parse(text)
    assert len(found.names) == len(found.labels) == len(found.values)


@pytest.mark.skipif(not VLLM_CPU.is_dir(), reason="recorded runs are not here")
@pytest.mark.parametrize(
    ("run", "drafts", "draft_tokens", "accepted", "steps"),
    [
        ("tp2-draft-noisy", 55, 165, 61, 32),
        ("ngram", 45, 94, 57, 30),
        ("draft-noisy", 122, 366, 118, 75),
        ("tp2-baseline", None, None, None, 49),
    ],
)
def test_differences_of_recorded_servers(con, run, drafts, draft_tokens, accepted, steps):
    names = ["metrics_before.prom", "metrics_after.prom"]
    files = [
        (i, InputFile(VLLM_CPU / run / name, name, "metrics", 0)) for i, name in enumerate(names)
    ]
    read_metrics(con, files, moments_of_names(files), run="r")
    moved = dict(
        con.sql(
            "SELECT name, sum(CASE moment WHEN 'after' THEN value ELSE -value END) "
            "FROM counter GROUP BY name"
        ).fetchall()
    )
    spec = [
        f"vllm:spec_decode_num_{what}_total"
        for what in ("drafts", "draft_tokens", "accepted_tokens")
    ]
    assert [moved.get(name) for name in spec] == [drafts, draft_tokens, accepted]
    assert moved["vllm:iteration_tokens_total_count"] == steps
    assert ledger(con) == []
