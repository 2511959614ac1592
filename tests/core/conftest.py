import pytest
from run_folders import METRICS, TRACE, lay_out


@pytest.fixture
def db(tmp_path):
    return tmp_path / "tracekit.duckdb"


@pytest.fixture
def run_folder(tmp_path):
    return lay_out(
        tmp_path / "baseline",
        {
            "run.json": '{"format": 1}',
            "traces/rank0.pt.trace.json": TRACE,
            "traces/rank1.pt.trace.json": TRACE,
            "metrics/before.prom": METRICS,
            "metrics/after.prom": METRICS,
            "logs/server.log": "INFO 11-29 12:03:56 [core.py:1] hello\n",
            "notes.txt": "slow today\n",
        },
    )
