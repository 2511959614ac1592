"""Real vLLM on this machine's CPU, profiled and ingested: the sums must come out.

`make test-vllm` builds the environment and names its interpreter in TRACEKIT_VLLM_PYTHON.
"""

import os
import subprocess
from pathlib import Path

import duckdb
import pytest
import vllm_sums
from cpu_server import vllm_python

import tracekit

pytestmark = pytest.mark.vllm

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 400  # a cold start of a server takes 20-60 s on two cores


def run_with_vllm(script, *arguments):
    """Runs a script with vLLM's interpreter; SIGTERM, unlike SIGKILL, lets it stop its server."""
    env = os.environ | {"PYTHONPATH": str(ROOT / "sample_traces")}
    with subprocess.Popen([vllm_python(), script, *arguments], env=env) as process:
        try:
            status = process.wait(TIMEOUT_S)
        finally:
            process.terminate()
    assert status == 0


def ingested(folder, db):
    tracekit.ingest([folder], run="real", db=db)
    return duckdb.connect(db, read_only=True)


def test_offline_vllm_with_ngram_drafts(tmp_path):
    folder = tmp_path / "offline"
    run_with_vllm(ROOT / "tests" / "vllm" / "offline_ngram.py", folder)
    with ingested(folder, tmp_path / "real.duckdb") as con:
        assert vllm_sums.counted(folder, "vllm:spec_decode_num_draft_tokens_total") > 0
        vllm_sums.steps_are_those_counted(con, "real", folder)
        vllm_sums.passes_hold_the_models_work(con, "real", folder)
        vllm_sums.verify_is_the_forward_pass_of_steps_with_drafts(con, "real")
        vllm_sums.phases_come_from_the_engine(con, "real")
        vllm_sums.spec_decode_is_what_was_counted(con, "real", folder)
        vllm_sums.every_event_is_accounted_for(con, "real", folder)
        draft_steps = con.execute(
            "SELECT count(*) FROM step_phases WHERE phase = 'draft' AND host_dur_ns > 0"
        ).fetchone()
        assert draft_steps == (vllm_sums.counted(folder, "vllm:iteration_tokens_total_count"),)


def test_server_at_tensor_parallel_2_with_a_draft_model(tmp_path):
    run_with_vllm(ROOT / "sample_traces" / "record.py", tmp_path, "draft")
    folder = tmp_path / "vllm_cpu_tp2_draft"
    with ingested(folder, tmp_path / "real.duckdb") as con:
        vllm_sums.steps_are_those_counted(con, "real", folder)
        vllm_sums.ranks_agree(con, "real")
        vllm_sums.passes_hold_the_models_work(con, "real", folder, draft_passes=3)
        vllm_sums.verify_is_the_forward_pass_of_steps_with_drafts(con, "real")
        vllm_sums.phases_come_from_the_engine(con, "real")
        vllm_sums.spec_decode_is_what_was_counted(con, "real", folder)
        vllm_sums.every_event_is_accounted_for(con, "real", folder)
