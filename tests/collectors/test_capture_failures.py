"""What goes wrong around a server, profiler or load: one line, nothing left, a usable run folder.

Each capture is a real `tracekit capture` around the stand-in for vLLM.
"""

from dataclasses import dataclass

import pytest
from capturing import at_once, capture

TWO_RANKS = ("-tp", "2")


@dataclass(frozen=True)
class Case:
    """What fails, the words that the line must have, and those shown before it."""

    faults: str
    told: tuple = ()
    options: tuple = ()
    server: tuple = ()
    shown: str = ""


CASES = {
    "exits-at-start": Case(
        "exit-at-start", ("^server: exited with 1", "server.log"), shown="No available memory"
    ),
    "refuses-an-argument": Case(
        "", ("^server: exited with 2",), server=("--no-such",), shown="unrecognized arguments"
    ),
    "never-listens": Case(
        "never-healthy", ("not healthy after 1 s", "--start-timeout"), ("--start-timeout", 1)
    ),
    "never-healthy": Case(
        "health-503", ("not healthy after 1 s", "--start-timeout"), ("--start-timeout", 1)
    ),
    "no-profiler-routes": Case("start-profile-404", ("404", "--profiler-config")),
    "start_profile-fails": Case("start-profile-500", ("start_profile", "500")),
    "stop_profile-fails": Case("stop-profile-500", ("stop_profile", "500")),
    "stop_profile-hangs-up": Case("stop-profile-hangup", ("stop_profile",)),
    "stop_profile-takes-too-long": Case(
        "stop-profile-never", ("stop_profile", "--stop-timeout"), ("--stop-timeout", 1)
    ),
    "rank-without-a-file": Case("missing-rank=1", ("1 of 2 ranks",), server=TWO_RANKS),
    "no-rank-with-a-file": Case("missing-rank=0", ("no rank wrote",)),
    "truncated-trace": Case("truncated-rank=1", ("rank1.*trace.json.gz",), server=TWO_RANKS),
    "disk-full-at-the-server": Case("disk-full", ("trace.json.gz",), server=TWO_RANKS),
    "dies-in-the-warm-up": Case("die-at-step=3", ("^server: exited with 1",), server=TWO_RANKS),
    "dies-under-the-profiler": Case(
        "die-at-step=15", ("^server: exited with 1",), server=TWO_RANKS, shown="out of memory"
    ),
    "worker-dies": Case(
        "worker-dies-at-step=15",
        ("^(server|load)",),
        server=TWO_RANKS,
        shown="Worker proc VllmWorker-0 died unexpectedly",
    ),
    "all-requests-fail": Case("request-500=0", ("^load", "EngineCore encountered an issue")),
    "a-later-request-fails": Case("request-500=2", ("^load", "EngineCore encountered an issue")),
    "stream-breaks": Case("stream-error=1", ("^load", "EngineCore encountered an issue")),
    "output-too-long": Case("", ("^load", "maximum context"), server=("--max-model-len", "4")),
    "load-command-fails": Case("", ("^load",), ("--load", "false")),
    "load-command-sends-nothing": Case(
        "", ("^load: the server generated no token", "{url}"), ("--load", "true")
    ),
    "load-command-is-killed": Case("", ("^load",), ("--load", "sh -c 'kill -9 $$'")),
}


WAITED_FOR = {
    "deaf-workers": Case("worker-ignores-sigterm"),
    "slow-start": Case("start-s=2"),
    "slow-stop_profile": Case("stop-profile-slow=3"),
    "load-command-leaves-a-process": Case("", (), ("--load", "sh -c 'sleep 60 & true'")),
}
ALL = WAITED_FOR | CASES  # the one that takes longest first


@pytest.fixture(scope="module")
def ended(request, vllm, tmp_path_factory):
    script = vllm()

    def run(name):
        case, folder = ALL[name], tmp_path_factory.mktemp(name)
        more = {"server": case.server, "faults": case.faults, "is_read": name not in WAITED_FOR}
        return capture(folder, script, *case.options, **more).ended()

    with at_once(request, ALL, run) as result:
        yield result


@pytest.mark.parametrize("name", CASES)
def test_it_is_told_in_one_line_and_nothing_is_left(ended, name):
    end = ended(name).check(*CASES[name].told)
    assert CASES[name].shown in end.err
    assert end.said["status"] == "failed"
    assert end.said["error"] == end.line
    assert "above" not in end.line


@pytest.mark.parametrize(
    "name", ["rank-without-a-file", "truncated-trace", "a-later-request-fails"]
)
def test_what_was_recorded_can_be_ingested(ended, name):
    assert ended(name).check_ingest() is not None


@pytest.mark.parametrize("name", ["slow-start", "slow-stop_profile", "deaf-workers"])
def test_it_is_waited_for(ended, name):
    """A worker that does not hear SIGTERM is killed after half a minute, the run is complete."""
    end = ended(name)
    assert (end.code, end.left) == (0, []), end.err
    assert end.said["status"] == "complete"


@pytest.mark.parametrize("name", ["load-command-leaves-a-process"])
def test_what_a_load_command_leaves_is_ended(ended, name):
    assert ended(name).left == []
