"""What a capture starts it ends, with all that came of it."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tracekit.collectors.process.job import running
from tracekit.collectors.process.signals import Interrupted, Signals
from tracekit.errors import CaptureError

FAMILY = """
import os, signal, subprocess, sys, time
sleep = "import time; time.sleep(60)"
deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); "
apart = subprocess.Popen([sys.executable, "-c", sleep], start_new_session=True)
child = subprocess.Popen([sys.executable, "-c", deaf + sleep], stdout=subprocess.PIPE)
child.stdout.readline()
print("pids", os.getpid(), apart.pid, child.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def short_grace(monkeypatch):
    monkeypatch.setattr("tracekit.collectors.process.job.GRACE_S", 0.5)


def is_alive(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def pids_of(server):
    while not (words := " ".join(server.tail(1)).split()):
        assert server.exit_code is None
    return [int(word) for word in words[1:]]


class Notes(list):
    note = list.append


NOTES = Notes()


def start(tmp_path, signals, code=FAMILY):
    return running([sys.executable, "-c", code], os.environ, tmp_path / "log", signals, NOTES)


def test_children_deaf_to_sigterm_or_in_sessions_of_their_own_are_ended(tmp_path):
    with start(tmp_path, Signals()) as server:
        pids = pids_of(server)
        assert len(pids) == 3
        assert all(map(is_alive, pids))
    assert not any(map(is_alive, pids))


def test_an_error_in_the_body_ends_them_too(tmp_path):
    pids = []

    def body():
        with start(tmp_path, Signals()) as server:
            pids.extend(pids_of(server))
            raise ValueError("body")

    with pytest.raises(ValueError, match="body"):
        body()
    assert len(pids) == 3
    assert not any(map(is_alive, pids))


def test_a_server_killed_at_once_is_gone(tmp_path):
    with start(tmp_path, Signals()) as server:
        pids = pids_of(server)
        server.kill()
    assert server.exit_code == -signal.SIGKILL
    assert not any(map(is_alive, pids))


def test_the_log_has_both_outputs_and_its_last_lines_are_told(tmp_path):
    code = "import sys; print('one', flush=True); print('two', file=sys.stderr); sys.exit(3)"
    with start(tmp_path, Signals(), code) as server:
        while server.exit_code is None:
            pass
        assert server.tail(5) == ["one", "two"]
        assert server.tail(1) == ["two"]
    assert server.exit_code == 3


def test_a_command_that_is_not_there_is_told(tmp_path):
    missing = running(["no-such-program"], os.environ, tmp_path / "log", Signals(), NOTES)
    with pytest.raises(CaptureError, match="no-such-program: cannot be started: No such"), missing:
        pass


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_body_and_then_the_server(tmp_path, number, code):
    signals = Signals()
    ended = []

    def body():
        with signals.handled(), start(tmp_path, signals) as server:
            ended.extend(pids_of(server))
            signal.raise_signal(number)
            ended.append("not reached")

    with pytest.raises(Interrupted) as interrupted:
        body()
    assert interrupted.value.exit_code == code
    assert "s to end by itself; Ctrl-C again ends it at once" in NOTES[-1]
    assert len(ended) == 3
    assert not any(map(is_alive, ended))


def test_a_signal_waits_for_what_must_not_be_half_done():
    signals, done = Signals(), []

    def body():
        with signals.handled():
            with signals.deferred():
                signal.raise_signal(signal.SIGINT)
                done.append("to its end")
            done.append("not reached")

    with pytest.raises(Interrupted):
        body()
    assert done == ["to its end"]


def test_only_the_first_signal_interrupts_the_second_makes_it_urgent():
    signals, done = Signals(), []

    def body():
        with signals.handled():
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                signal.raise_signal(signal.SIGTERM)
                done.append(signals.is_urgent)

    with pytest.raises(Interrupted):
        body()
    assert done == [True]
