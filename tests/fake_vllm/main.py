"""`vllm serve MODEL ...` and `vllm bench serve ...`."""

import errno
import os
import signal
import sys
import time

from fake_vllm import faults
from fake_vllm.arguments import parse
from fake_vllm.engine import Engine
from fake_vllm.generations import Generation
from fake_vllm.profiler import Profiler
from fake_vllm.server import Server
from fake_vllm.workers import Workers


class App:
    """The server process: what it was given, its engine, its profiler, its log."""

    def __init__(self, generation, settings, its_faults):
        self.generation, self.settings, self.faults = generation, settings, its_faults
        self.n_requests = 0
        self.profiler = self.engine = None

    def write(self, line):
        """One line of the log in one system call: workers write to the same file."""
        try:
            os.write(1, f"(APIServer pid={os.getpid()}) {line}\n".encode())
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EPIPE):
                raise

    def log(self, level, text):
        self.write(f"{level} {time.strftime('%m-%d %H:%M:%S')} [fake.py:1] {text}")

    def start(self):
        """Everything but listening: engine, workers, profiler."""
        workers = Workers(self.generation, self.settings, self.faults, self.log)
        self._on_signals(workers)
        self.profiler = Profiler(self.generation, self.settings, workers)
        self.engine = Engine(
            self.generation, self.settings, self.faults, workers, self.profiler, self.log
        )

    def _on_signals(self, workers):
        def quit_(*_):
            workers.stop()
            self.log("INFO", "Shutting down")
            os._exit(0)

        deaf = "ignore-sigterm" in self.faults
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN if deaf else quit_)

    def log_arguments(self):
        """The lines that readers take a server's setup from."""
        given, hidden = self.settings.given, {"api_key", "hf_token"}
        if self.generation.redacts_arguments:
            given = {key: "***" if key in hidden else value for key, value in given.items()}
        self.log("INFO", f"non-default args: {given}")
        drafting, method = self.settings.speculative, None
        if drafting:
            method = f"SpeculativeConfig(method={drafting.get('method')!r}, model=None, "
            method += f"num_spec_tokens={self.settings.n_draft_tokens})"
        self.log(
            "INFO",
            f"Initializing a V1 LLM engine (v{self.generation.version}) with config: "
            f"model={self.settings.model!r}, speculative_config={method}, "
            f"tensor_parallel_size={self.settings.tensor_parallel}, "
            f"served_model_name={self.settings.served}",
        )


def main(version):
    """Entry point of `bin/vllm`."""
    command, *words = sys.argv[1:] or ["--help"]
    if command in ("--version", "-v"):
        sys.stdout.write(f"{version}\n")
        return
    if (command, *words[:1]) == ("bench", "serve"):
        from fake_vllm.bench import bench  # a third of a server's start, which has no use for it

        bench(words[1:])
        return
    if command != "serve":
        sys.exit(
            f"vllm: argument subparser: invalid choice: {command!r} (choose from serve, bench)"
        )
    serve(version, words)


def serve(version, words):
    """Serves until a signal or a fault ends it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    generation, its_faults = Generation(version), faults.from_environment()
    app = App(generation, parse(words, generation), its_faults)
    server = Server(app)
    app.log_arguments()
    if "exit-at-start" in its_faults:
        app.log("ERROR", "EngineCore failed to start.")
        sys.exit(its_faults.get("exit-text") or "ValueError: No available memory for the cache.")
    app.start()
    deadline = time.monotonic() + its_faults.number("start-s", 0.05)
    while "never-healthy" in its_faults or time.monotonic() < deadline:
        app.log("INFO", "Loading safetensors checkpoint shards:  50% Completed | 1/2")
        time.sleep(0.05)
    server.server_activate()
    app.log("INFO", "Application startup complete.")
    server.serve_forever()
