"""When a profile runs: sessions, their bounds, and who writes at the end."""

import os
import socket
import threading
import time
from dataclasses import dataclass, field

from fake_vllm import trace
from fake_vllm.workers import trace_path


@dataclass
class Session:
    """One profile: from start_profile to its end."""

    prefix: str | None
    delay: int
    limit: int
    start_ns: int
    end_ns: int = 0
    steps: list = field(default_factory=list)


class AlreadyActiveError(Exception):
    """A second /start_profile, answered with 409 where the version guards against it."""


class Profiler:
    """The state machine of vllm/profiler/wrapper.py, for all ranks at once."""

    def __init__(self, generation, settings, workers):
        self._generation, self._settings, self._workers = generation, settings, workers
        self._lock = threading.Lock()
        self._session = None
        self._is_active = False

    @property
    def is_running(self):
        return self._session is not None

    def start(self, body):
        with self._lock:
            if self._is_active:
                if self._generation.refuses_second_start:
                    raise AlreadyActiveError
                return
            body = body if self._generation.takes_body else {}
            profiler = self._settings.profiler
            self._is_active = True
            self._session = Session(
                prefix=body.get("profile_prefix"),
                delay=int(body.get("delay_iterations") or profiler["delay_iterations"]),
                limit=int(body.get("max_iterations") or profiler["max_iterations"]),
                start_ns=time.time_ns(),
            )

    def record(self, step):
        """Keep a step of the engine; more than the limit end the session, as in vLLM."""
        with self._lock:
            session = self._session
            if session is None:
                return
            if session.delay > 0:
                session.delay -= 1
                session.start_ns = step.start_ns + step.dur_ns
                return
            session.steps.append(step)
            if 0 < session.limit < len(session.steps):
                self._write()

    def stop(self):
        with self._lock:
            self._is_active = False
            self._write()

    def _write(self):
        session, self._session = self._session, None
        if session is None:
            return
        session.end_ns = time.time_ns()
        self._workers.write(session)
        if not self._settings.profiler["ignore_frontend"]:
            self._write_frontend(session)

    def _write_frontend(self, session):
        host, pid, profiler = socket.gethostname(), os.getpid(), self._settings.profiler
        stem = f"{host}_{pid}.async_llm"
        stem = f"{session.prefix}_{stem}" if session.prefix else stem
        events = trace.head(pid, "python3.11", session.start_ns)
        events += trace.tail(session.start_ns, session.end_ns)
        path = trace_path(profiler, stem)
        trace.write(path, trace.document(self._generation, profiler, events, host))
