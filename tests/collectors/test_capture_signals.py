"""Ctrl-C and SIGTERM at every stage of a capture, once and more: one line, nothing left."""

import re
import time
from itertools import cycle
from signal import SIGHUP, SIGINT, SIGTERM

import pytest
from capturing import at_once, capture

# Each stage is made long by a fault, and known by what the server has logged.
STAGES = {
    "start": ("never-healthy", lambda c: "Loading" in c.log),
    "warm-up": ("step-ms=200", lambda c: "POST /v1/" in c.log),
    "unprofiled": ("step-ms=40", lambda c: c.log.count("POST /v1/") > 1),
    "start_profile": ("start-profile-slow=20", lambda c: "Starting profiler" in c.log),
    "profiled": ("step-ms=40", lambda c: "Profiler started" in c.log),
    "stop_profile": ("stop-profile-slow=20", lambda c: "Stopping profiler" in c.log),
    "stopping": ("", lambda c: "Profiler stopped" in c.log),
    "ingest": ("", lambda c: "Shutting down" in c.log),
}
SINGLE = dict(zip(STAGES, cycle((SIGINT, SIGTERM)), strict=False))
"""By turns: one handler takes both, and knows the stage alone."""

CASES = {  # stage, signals, pause after each, further faults
    **{f"{stage}-{number.name}": (stage, [number], 0.0, "") for stage, number in SINGLE.items()},
    **{f"{stage}-both": (stage, [SIGINT, SIGTERM], 0.1, "") for stage in STAGES},
    "volley": ("profiled", [SIGTERM] * 8, 0.0, ""),
    "slow-volley": ("stop_profile", [SIGINT] * 8, 0.02, ""),
    "deaf-server": ("profiled", [SIGINT, SIGINT], 0.1, "ignore-sigterm"),
    "deaf-workers": ("unprofiled", [SIGTERM, SIGTERM], 0.1, "worker-ignores-sigterm"),
    "closed-terminal": ("unprofiled", [SIGHUP], 0.0, ""),
}


@pytest.fixture(scope="module")
def ended(request, vllm, tmp_path_factory):
    script = vllm()

    def run(name):
        stage, numbers, pause_s, faults = CASES[name]
        fault, is_there = STAGES[stage]
        folder = tmp_path_factory.mktemp(name)
        running = capture(folder, script, server=["-tp", "2"], faults=f"{fault},{faults}")
        running.until(is_there)
        for number in numbers:
            running.signal(number)
            time.sleep(pause_s)
        return running.ended()

    with at_once(request, CASES, run) as result:
        yield result


@pytest.mark.parametrize("name", CASES)
def test_a_signal_ends_all_and_leaves_a_usable_folder(ended, name):
    _, (number, *_), _, _ = CASES[name]
    check(ended(name), number)


@pytest.mark.parametrize("name", ["deaf-server", "deaf-workers"])
def test_a_second_signal_ends_the_patience_with_a_deaf_server(ended, name):
    assert ended(name).seconds < 15


@pytest.mark.parametrize("delay_s", [0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
def test_a_signal_while_tracekit_itself_starts(vllm, tmp_path, delay_s):
    """Python itself ends with SIGINT where the interrupt came while it was importing."""
    running = capture(tmp_path, vllm(), faults="never-healthy")
    time.sleep(delay_s)
    running.signal(SIGTERM)
    end = running.ended()
    assert end.left == []
    assert end.code in (-SIGTERM, -SIGINT, 128 + SIGTERM)


def test_a_load_command_is_ended_too(vllm, tmp_path):
    running = capture(tmp_path, vllm(), "--load", "sh -c 'touch here; sleep 60'")
    running.until(lambda c: (c.folder / "here").exists())
    running.signal(SIGTERM)
    check(running.ended(), SIGTERM)


def check(end, number):
    """A capture that was over before the signal came is complete; any other says so."""
    assert end.left == []
    assert "Traceback" not in end.err, end.err
    if end.code == 0:
        assert end.check_ingest() is not None
        return
    assert end.code == 128 + number, end.err
    assert end.line.startswith("capture: stopped by "), end.err
    end.check_ingest()


@pytest.mark.parametrize("number", [SIGINT, SIGHUP])
def test_what_is_waited_for_is_told_and_how_to_end_it(vllm, tmp_path, number):
    running = capture(tmp_path, vllm(), faults="never-healthy")
    running.until(lambda c: "Loading" in c.log)
    running.signal(number)
    end = running.ended()
    check(end, number)
    assert re.search(r"stopping: .*vllm has 10 s to end by itself; Ctrl-C again ends", end.err)
