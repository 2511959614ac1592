"""Variables for NCCL's log, and what the user had set before."""

import pytest
from capturing import capture

from tracekit.collectors.context.nccl_log import NOTE, nccl_log


def test_all_is_set_where_the_user_left_it_open(tmp_path):
    log = nccl_log({}, tmp_path, "2.27.5")
    assert log.env == {
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,GRAPH,ENV,COLL,TUNING",
        "NCCL_DEBUG_FILE": f"{tmp_path}/nccl.%h.%p.log",
        "NCCL_DEBUG_TIMESTAMP_LEVELS": "ALL",
        "NCCL_DEBUG_TIMESTAMP_FORMAT": "[%F %T.%6f %z] ",
        "RAY_DEDUP_LOGS": "0",
    }
    assert log.notes == (NOTE,)


def test_what_the_user_set_stays(tmp_path):
    chosen = {
        "NCCL_DEBUG": "trace",
        "NCCL_DEBUG_SUBSYS": "COLL",
        "NCCL_DEBUG_FILE": "/x/%p",
        "NCCL_DEBUG_TIMESTAMP_FORMAT": "[%s] ",
    }
    log = nccl_log(chosen, tmp_path)
    assert log.env.keys().isdisjoint(chosen)
    assert log.notes[1:] == (
        "NCCL_DEBUG_SUBSYS=COLL is kept; for all that tracekit reads unset it",
        "NCCL_DEBUG_FILE=/x/%p is kept: the log is not in the run folder",
    )


@pytest.mark.parametrize("level", ["WARN", "version", "", "ABORT"])
def test_a_level_that_logs_too_little_is_raised_and_told(tmp_path, level):
    log = nccl_log({"NCCL_DEBUG": level}, tmp_path)
    assert log.env["NCCL_DEBUG"] == "INFO"
    assert (f"NCCL_DEBUG={level} logs too little: INFO is used" in log.notes) == bool(level)


def test_a_folder_with_percent_signs_is_taken_literally(tmp_path):
    log = nccl_log({}, tmp_path / "50%p")
    assert log.env["NCCL_DEBUG_FILE"] == f"{tmp_path}/50%%p/nccl.%h.%p.log"


@pytest.mark.parametrize(
    ("version", "is_told"), [("2.25.1", True), ("2.26.2", False), (None, False), ("", False)]
)
def test_a_version_without_timestamps_is_told(tmp_path, version, is_told):
    notes = nccl_log({}, tmp_path, version).notes
    assert any("no timestamps" in note for note in notes) == is_told


def test_that_there_is_no_nccl_is_told(vllm, tmp_path):
    end = capture(tmp_path, vllm(), "--nccl-log", is_read=False).ended()
    assert end.code == 0, end.err
    assert "there is no NCCL" in end.err
