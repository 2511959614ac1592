"""One process per rank in the server's process group; each writes its trace when told to."""

import importlib.metadata
import multiprocessing
import os
import signal
import socket
import sys
import time
from pathlib import Path

from fake_vllm import trace


class Workers:
    """The ranks of a server. Processes, not threads: a capture has to end every one of them."""

    def __init__(self, generation, settings, faults, log):
        self._generation, self._settings = generation, settings
        self._faults, self._log = faults, log
        self._instance = str(time.time_ns())
        fork = multiprocessing.get_context("fork")
        self._ends, self._processes = [], []
        for rank in range(settings.tensor_parallel):
            mine, theirs = fork.Pipe()
            process = fork.Process(target=self._run, args=(rank, theirs, mine))
            process.start()
            theirs.close()
            self._ends.append(mine)
            self._processes.append(process)

    @property
    def is_alive(self):
        return all(process.is_alive() for process in self._processes)

    def kill_first(self):
        self._processes[0].kill()
        self._processes[0].join()

    def write(self, session):
        """Have every rank write its trace of a session; returns when all have answered."""
        for end in self._ends:
            end.send(session)
        for end in self._ends:
            end.recv()

    def stop(self):
        for process in self._processes:
            process.terminate()

    def _run(self, rank, end, parents_end):
        parents_end.close()
        deaf = self._faults.keys() & {"ignore-sigterm", "worker-ignores-sigterm"}
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN if deaf else signal.SIG_DFL)
        _load_general_plugins(self._log)
        try:
            while True:
                self._write(end.recv(), rank)
                end.send("done")
        except (EOFError, BrokenPipeError, ConnectionResetError):
            while deaf:  # as a worker does that hangs in a collective
                time.sleep(1)

    def _write(self, session, rank):
        if self._faults.is_rank("missing-rank", rank):
            return
        settings, generation, pid = self._settings, self._generation, os.getpid()
        profiler, tp = settings.profiler, settings.tensor_parallel
        host = socket.gethostname()
        scopes = os.environ.get("VLLM_CUSTOM_SCOPES_FOR_PROFILING") == "1"
        name = f"VLLM::Worker_TP{rank}" if tp > 1 else "VLLM::Worker"
        events = trace.head(pid, name, session.start_ns)
        for step in session.steps:
            events += trace.of_step(generation, profiler, step, pid, tp, scopes)
        events += trace.tail(session.start_ns, session.end_ns)
        stem = generation.worker_stem(host, pid, self._instance, rank)
        stem = f"{session.prefix}_{stem}" if session.prefix else stem
        path = trace_path(profiler, stem)
        trace.write(path, trace.document(generation, profiler, events, host, rank, tp))
        if table := generation.table(stem, rank):
            (path.parent / table).write_text("Self CPU time total: 1.000ms\n")
        if self._faults.is_rank("truncated-rank", rank) or "disk-full" in self._faults:
            os.truncate(path, path.stat().st_size // 2)
        if "disk-full" in self._faults:
            self._log("WARNING", "Failed to stop profiler: [Errno 28] No space left on device")


def trace_path(profiler, stem):
    """Path of a new trace; its folder is made, as torch's handler does."""
    folder = Path(profiler["torch_profiler_dir"])
    folder.mkdir(parents=True, exist_ok=True)
    suffix = ".gz" if profiler["torch_profiler_use_gzip"] else ""
    return folder / f"{stem}.{time.time_ns()}.pt.trace.json{suffix}"


def _load_general_plugins(log):
    """As vllm/plugins: what fails to load is logged, what fails when called ends the worker."""
    allowed = os.environ.get("VLLM_PLUGINS")
    for plugin in importlib.metadata.entry_points(group="vllm.general_plugins"):
        if allowed is not None and plugin.name not in allowed.split(","):
            continue
        try:
            function = plugin.load()
        except ImportError as error:
            log("ERROR", f"Failed to load plugin {plugin.name}: {error}")
        else:
            function()
            log("INFO", f"Loaded plugin {plugin.name} with {sys.executable}")
