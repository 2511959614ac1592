"""The recorded runs in sample_traces/: what their counters and their model fix must come out."""

import gzip
import json
import re
from pathlib import Path

import duckdb
import pytest
import vllm_sums

import tracekit

SAMPLES = Path(__file__).parents[2] / "sample_traces"
BASELINE, DRAFT = "vllm_cpu_tp2_baseline", "vllm_cpu_tp2_draft"

both = pytest.mark.parametrize("run", [BASELINE, DRAFT])


@pytest.fixture(scope="module")
def con(tmp_path_factory):
    db = tmp_path_factory.mktemp("recorded") / "recorded.duckdb"
    for run in (BASELINE, DRAFT):
        tracekit.ingest([SAMPLES / run], db=db)
    with duckdb.connect(db, read_only=True) as connection:
        yield connection


@both
def test_steps_are_those_the_server_counted(con, run):
    vllm_sums.steps_are_those_counted(con, run, SAMPLES / run)


@both
def test_both_ranks_tell_the_same_steps(con, run):
    vllm_sums.ranks_agree(con, run)


@pytest.mark.parametrize(("run", "draft_passes"), [(BASELINE, 0), (DRAFT, 3)])
def test_each_pass_holds_the_work_of_the_model(con, run, draft_passes):
    vllm_sums.passes_hold_the_models_work(con, run, SAMPLES / run, draft_passes=draft_passes)


@both
def test_steps_with_drafts_verify_and_others_go_forward(con, run):
    vllm_sums.verify_is_the_forward_pass_of_steps_with_drafts(con, run)


@both
def test_phases_come_from_the_scopes_of_the_engine(con, run):
    vllm_sums.phases_come_from_the_engine(con, run)


@both
def test_every_event_is_accounted_for(con, run):
    vllm_sums.every_event_is_accounted_for(con, run, SAMPLES / run)


@both
def test_busy_idle_and_waiting_fill_each_window(con, run):
    vllm_sums.busy_idle_and_waiting_fill_the_window(con, run)


def test_spec_decode_is_what_the_server_counted(con):
    vllm_sums.spec_decode_is_what_was_counted(con, DRAFT, SAMPLES / DRAFT)


def test_without_drafts_there_is_nothing_on_speculation(con):
    assert con.execute("FROM spec_decode WHERE run = ?", [BASELINE]).fetchall() == []


@pytest.mark.parametrize(
    ("run", "kinds"),
    [
        (BASELINE, {"prefill": 2, "mixed": 1, "decode": 11, "idle": 2}),
        (DRAFT, {"prefill": 2, "mixed": 1, "decode": 6, "idle": 2}),
    ],
)
def test_kinds_of_step_are_those_of_the_recorded_annotations(con, run, kinds):
    rows = con.execute(
        "SELECT kind, count(*) FROM steps WHERE run = ? AND rank = 0 GROUP BY kind", [run]
    ).fetchall()
    assert dict(rows) == kinds


@both
def test_waiting_for_the_last_request_is_in_the_empty_step_and_in_no_window(con, run):
    """It came half a second after the first, when the others were done."""
    rows = con.execute(
        """SELECT max(dur_ns), max(host_dur_ns) FILTER (WHERE kind = 'idle')
           FROM steps WHERE run = ? GROUP BY rank""",
        [run],
    ).fetchall()
    assert len(rows) == 2
    for longest_window_ns, longest_empty_ns in rows:
        assert longest_empty_ns > 200_000_000 > longest_window_ns


@pytest.mark.parametrize(
    ("run", "speculation"), [(BASELINE, (None, None)), (DRAFT, ("draft_model", 3))]
)
def test_the_run_tells_what_ran(con, run, speculation):
    row = con.execute(
        """SELECT engine, engine_version, model, backend, runner, n_ranks, tensor_parallel,
                  is_synthetic, speculative_method, num_speculative_tokens
           FROM runs WHERE run = ?""",
        [run],
    ).fetchone()
    assert row == ("vllm", "0.32.0", "tiny-llama", "cpu", "v1", 2, 2, False, *speculation)


def _texts(run):
    for path in sorted((SAMPLES / run).rglob("*.*")):
        if path.is_file():
            data = path.read_bytes()
            yield path, (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


@both
def test_a_recording_names_no_machine(run):
    for path, text in _texts(run):
        hosts = re.findall(r'"host_name": "([^"]*)"', text)
        assert set(hosts) <= {"host-a"}, path
        addresses = set(re.findall(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])", text))
        assert addresses <= {"127.0.0.1", "0.0.0.0"}, path
        assert not re.search(r"/(?:tmp|root|home/(?!user/)|Users)/", text), path


def test_recordings_stay_small():
    paths = (path for run in (BASELINE, DRAFT) for path in (SAMPLES / run).rglob("*.*"))
    assert sum(path.stat().st_size for path in paths if path.is_file()) < 3_000_000


@both
def test_a_recording_says_how_it_was_made(run):
    context = json.loads((SAMPLES / run / "run.json").read_text())
    assert context["command"][:2] == ["vllm", "serve"]
    assert context["environment"]["VLLM_CUSTOM_SCOPES_FOR_PROFILING"] == "1"
    assert [window["n_emitted_tokens"] for window in context["windows"]] == [
        vllm_sums.counted(SAMPLES / run, "vllm:generation_tokens_total")
    ]
