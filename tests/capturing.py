"""Runs `tracekit capture` as a user does, around the stand-in for vLLM, and looks at what is left.

Every process that a capture starts inherits a marker in its environment, so that those it leaves
are found whatever they became: other groups, other sessions, without a parent.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from database import memory_run
from free_port import free_port

from tracekit.errors import TracekitError

MARKER = "TRACEKIT_TEST_MARKER"
DEADLINE_S = 60.0
"""No capture here needs a fifth of it; one that takes longer hangs."""

N_AT_ONCE = 5
RUN = "r"
RECORD = Path(__file__).with_name("record.py")


@dataclass
class Capture:
    """A capture under way; `words` are the options, `command` what follows `--`.

    Where `is_read` is false it ends once the run is recorded: nothing is ingested, no page shown.
    """

    folder: Path
    words: tuple
    command: tuple = ()
    env: dict = field(default_factory=dict)
    wrapper: tuple = ()
    is_read: bool = True
    marker: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self):
        tracekit = ("-m", "tracekit") if self.is_read else (RECORD,)
        words = [sys.executable, *tracekit, "capture", *map(str, self.words)]
        command = ["--", *map(str, self.command)] if self.command else []
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [*self.wrapper, *words, *command],
            cwd=self.folder,
            env={**os.environ, "COLUMNS": "80", **self.env, MARKER: self.marker},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    @property
    def run(self):
        """Its run folder."""
        return self.folder / "runs" / RUN

    @property
    def log(self):
        """What the server has written so far."""
        path = self.run / "logs" / "server.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def until(self, condition):
        """Wait for it to come to a point; False where it ended before."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition(self):
            if self.process.poll() is not None:
                return False
            assert time.monotonic() < deadline, self.log[-2000:]
            time.sleep(0.01)
        return True

    def signal(self, number):
        """As a terminal does: to the whole process group."""
        os.killpg(self.process.pid, number)

    def ended(self):
        """Its end, with all that it left killed."""
        try:
            out, err = self.process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            left_over(self.marker, kill=True)
            raise
        left = left_over(self.marker, kill=True)
        seconds = time.monotonic() - self.started
        return Ended(self.process.returncode, out, err, self.run, left, seconds)


@dataclass
class Ended:
    """What came of a capture; `left` are the command lines of processes that it left."""

    code: int
    out: str
    err: str
    run: Path
    left: list
    seconds: float

    @property
    def line(self):
        """The last line of stderr: what went wrong."""
        return self.err.rstrip("\n").rpartition("\n")[2]

    @property
    def said(self):
        """What its run.json says."""
        return json.loads((self.run / "run.json").read_text())

    @property
    def log_is_there(self):
        """Whether a server was started."""
        return (self.run / "logs" / "server.log").exists()

    def check(self, *words, code=1):
        """Assert a clean failure that names `words`, and a run folder that can be ingested."""
        assert self.left == []
        assert self.code == code, self.err + self.out
        assert "Traceback (most recent" not in self.err.replace(self.server_words, ""), self.err
        for word in words:
            assert re.search(word, self.line), self.err
        assert re.match(r"\S.*?: .+; .+", self.line), self.line
        self.check_ingest()
        return self

    @property
    def server_words(self):
        """The server's last lines, where the capture shows them."""
        log = self.run / "logs" / "server.log"
        return log.read_text(errors="replace").strip() if log.exists() else "\0"

    def check_ingest(self):
        """Assert that what is there can be read, or is refused in one line; gives what was read."""
        if not self.run.exists():
            return None
        try:
            return memory_run(self.run)
        except TracekitError as error:
            told = str(error)
        assert len(told.splitlines()) == 1, told
        return None


def capture(folder, vllm, *options, server=(), faults="", env=None, **more):
    """A capture around `vllm serve`, with few steps and short waits."""
    folder.mkdir(parents=True, exist_ok=True)
    command = (vllm, "serve", "m", "--port", free_port(), *server)
    words = ("--run", RUN, "--out", "runs", "--db", "t.duckdb", "--steps", 6, *options)
    return Capture(folder, words, command, {"FAKE_VLLM": faults, **(env or {})}, **more)


@contextmanager
def at_once(request, names, run):
    """What `run(name)` gives for each name, several at a time: captures mostly wait.

    Only for names that are parameters of tests of this file that were selected. All have ended
    before the first test runs: pytest writes to os.environ between tests, which every start of a
    process reads.
    """
    items = (item for item in request.session.items if item.path == request.path)
    called = [item.callspec.params.values() for item in items if hasattr(item, "callspec")]
    wanted = {value for values in called for value in values if isinstance(value, str)}
    with ThreadPoolExecutor(N_AT_ONCE) as pool:
        futures = {name: pool.submit(run, name) for name in names if name in wanted}
    yield lambda name: futures[name].result()


def left_over(marker, *, kill=False):
    """Command lines of living processes that have the marker in their environment."""
    needle = f"{MARKER}={marker}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if needle not in (path / "environ").read_bytes():
                continue
            found.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            if kill:
                os.kill(int(path.name), signal.SIGKILL)
        except (OSError, ProcessLookupError):
            continue
    return found
