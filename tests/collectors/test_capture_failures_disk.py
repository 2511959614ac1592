"""`tracekit capture` when the disk is full: one line, nothing left.

The run folder lies on a small tmpfs in a mount namespace of the capture's own; what is there at the
end is copied out.
"""

from dataclasses import replace

import pytest
from capturing import RUN, at_once, capture
from namespaces import WRAPPER, has_namespaces

# $1 is said in the server's log when the disk is to become full.
SCRIPT = """
mkdir -p runs && mount -t tmpfs -o size=$SIZE none runs || exit 99
[ -z "$FULL_AT" ] || {
    until grep -q "$FULL_AT" runs/*/logs/server.log; do sleep 0.02; done
    head -c 1G /dev/zero > runs/fill
} 2> /dev/null &
"$@"; code=$?
kill $! 2> /dev/null
rm -f runs/fill; cp -r runs kept; exit $code
"""
FULL_AT = {
    "start": ("Loading", "start-s=2,chatty=1"),
    "load": ("POST /v1/", "step-ms=40"),
    "start_profile": ("Starting profiler", "start-profile-slow=1"),
    "stop_profile": ("Stopping profiler", "stop-profile-slow=1"),
    "chatty": ("Starting profiler", "start-profile-slow=1,chatty=2000"),
}

pytestmark = pytest.mark.skipif(
    not has_namespaces(), reason="needs a mount namespace of its own: try as root, or with userns"
)


def on_small_disk(folder, script, size, *options, full_at="", **more):
    env = {"SIZE": size, "FULL_AT": full_at}
    wrapper = (*WRAPPER, SCRIPT, "sh")
    ended = capture(folder, script, *options, env=env, wrapper=wrapper, **more).ended()
    assert ended.code != 99, ended.err
    return replace(ended, run=folder / "kept" / RUN)


@pytest.fixture(scope="module")
def ended(request, vllm, tmp_path_factory):
    script = vllm()

    def run(name):
        full_at, faults = FULL_AT[name]
        folder = tmp_path_factory.mktemp(name)
        return on_small_disk(folder, script, "80m", full_at=full_at, faults=faults)

    with at_once(request, FULL_AT, run) as result:
        yield result


@pytest.mark.parametrize("name", FULL_AT)
def test_a_disk_that_fills_up_meanwhile(ended, name):
    end = ended(name).check("(?i)disk is full|make room|No space left")
    assert end.said["error"] == end.line.replace("/kept/", "/runs/")
    assert not (end.run / "run.tmp").exists()
    assert not (end.run / ".reserve").exists()


@pytest.mark.parametrize("size", ["4k", "100k", "4m"])
def test_a_disk_without_room_for_the_traces_is_told_before_the_start(vllm, tmp_path, size):
    end = on_small_disk(tmp_path, vllm(), size).check("(?i)free|full|room")
    assert not end.log_is_there


def test_a_disk_with_room_is_enough(vllm, tmp_path):
    ended = on_small_disk(tmp_path, vllm(), "80m", is_read=False)
    assert (ended.code, ended.left) == (0, []), ended.err


def test_a_disk_that_fills_up_before_the_run_is_in_the_database(vllm, tmp_path):
    options = ("--db", "runs/t.duckdb")
    end = on_small_disk(tmp_path, vllm(), "80m", *options, full_at="Shutting down")
    if end.code:  # else the run was in the database by then
        end.check("(?i)space|full|room|cannot be written")
