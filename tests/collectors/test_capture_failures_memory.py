"""`tracekit capture` when the machine's memory runs out: it ends itself before the machine does.

The capture sees a /proc/meminfo of the test's own, in a mount namespace.
"""

import re
from pathlib import Path

import pytest
from capturing import capture
from namespaces import WRAPPER, has_namespaces

pytestmark = pytest.mark.skipif(
    not has_namespaces(), reason="needs a mount namespace of its own: try as root, or with userns"
)
SCRIPT = 'mount --bind meminfo /proc/meminfo && exec "$@"'


@pytest.mark.parametrize(
    ("faults", "moment"),
    [
        ("never-healthy", "Loading"),
        ("step-ms=200", "POST /v1/"),
        ("stop-profile-slow=20", "Stopping profiler"),
    ],
)
def test_memory_that_runs_out(vllm, tmp_path, faults, moment):
    info = tmp_path / "meminfo"
    info.write_text(Path("/proc/meminfo").read_text())
    running = capture(tmp_path, vllm(), faults=faults, wrapper=(*WRAPPER, SCRIPT, "sh"))
    running.until(lambda c: moment in c.log)
    info.write_text(re.sub(r"(MemAvailable: +)\d+", r"\g<1>1000", info.read_text()))
    running.ended().check("^memory: 0.0 of .* GB left", "fewer --steps")
