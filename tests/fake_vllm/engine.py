"""The engine: one thread that makes steps of whatever requests there are."""

import os
import queue
import threading
import time
from dataclasses import dataclass, field

from fake_vllm.counters import Counters

EOS_AFTER = 5
"""Tokens after which a request ends by itself, unless it asks to ignore that."""


@dataclass(frozen=True)
class Step:
    """What one step did."""

    start_ns: int
    dur_ns: int
    context: int
    context_tokens: int
    generation: int
    generation_tokens: int
    n_draft_tokens: int


@dataclass
class Request:
    """A completion under way; `out` gets the number of tokens of each step, then None."""

    n_prompt: int
    max_tokens: int
    arrived_s: float = field(default_factory=time.perf_counter)
    first_s: float = 0.0
    n_tokens: int = 0
    out: queue.Queue = field(default_factory=queue.Queue)


class Engine:
    """Requests in, tokens out; every step is recorded, counted and logged in the same numbers."""

    def __init__(self, generation, settings, faults, workers, profiler, log):
        self._generation, self._settings, self._faults = generation, settings, faults
        self._workers, self._profiler, self._log = workers, profiler, log
        self.counters = Counters(settings.served, settings.n_draft_tokens)
        self._waiting = queue.Queue()
        self._running = []
        self._n_steps = 0
        self.is_dead = False
        threading.Thread(target=self._run, daemon=True).start()

    def submit(self, request):
        self._waiting.put(request)

    def _run(self):
        while not self.is_dead:
            arrived = [] if self._running else [self._waiting.get()]
            while not self._waiting.empty():
                arrived.append(self._waiting.get())
            self._step(arrived)

    def _step(self, arrived):
        self._n_steps += 1
        self._fail_on_purpose()
        start_ns = time.time_ns()
        time.sleep(self._faults.number("step-ms", 1) / 1000)
        n_verified = 1 + self._settings.n_draft_tokens
        step = Step(
            start_ns=start_ns,
            dur_ns=time.time_ns() - start_ns,
            context=len(arrived),
            context_tokens=sum(request.n_prompt for request in arrived),
            generation=len(self._running),
            generation_tokens=len(self._running) * n_verified,
            n_draft_tokens=self._settings.n_draft_tokens,
        )
        self._profiler.record(step)
        if self._settings.logs_iterations:
            self._log_iteration(step)
        emitted = [(request, 1) for request in arrived]
        emitted += [(request, self._decode()) for request in self._running]
        self._running = [*self._running, *arrived]
        self._finish(step, emitted)

    def _decode(self):
        if not self._settings.n_draft_tokens:
            return 1
        n_accepted = self._n_steps % (1 + self._settings.n_draft_tokens)
        self.counters.drafted(n_accepted)
        return 1 + n_accepted

    def _finish(self, step, emitted):
        now, counters = time.perf_counter(), self.counters
        n_emitted = 0
        for request, n in emitted:
            n = min(n, request.max_tokens - request.n_tokens)
            request.n_tokens += n
            request.first_s = request.first_s or now
            n_emitted += n
        counters.add("prompt_tokens", step.context_tokens)
        counters.add("generation_tokens", n_emitted)
        counters.observe("iteration_tokens_total", step.context_tokens + n_emitted)
        done = [request for request in self._running if request.n_tokens >= request.max_tokens]
        self._running = [request for request in self._running if request not in done]
        counters.n_running = len(self._running)
        for request in done:
            self._count_request(request, now)
        for request, n in emitted:
            request.out.put(n)
        for request in done:
            request.out.put(None)

    def _count_request(self, request, now):
        seen = self.counters.observe
        self.counters.add("request_success", 1)
        seen("time_to_first_token_seconds", request.first_s - request.arrived_s)
        seen("request_prefill_time_seconds", request.first_s - request.arrived_s)
        seen("request_queue_time_seconds", 0.0)
        seen("request_decode_time_seconds", now - request.first_s)
        seen("request_inference_time_seconds", now - request.arrived_s)
        seen("e2e_request_latency_seconds", now - request.arrived_s)
        seen("request_generation_tokens", request.n_tokens)

    def _log_iteration(self, step):
        is_late = self._generation.has(0, 32)
        prefix, rest = ("Engine 000: ", ", CPU KV cache usage: 0.1%") if is_late else ("", "")
        self._log(
            "INFO",
            f"{prefix}Iteration({self._n_steps}): {step.context} context requests, "
            f"{step.context_tokens} context tokens, {step.generation} generation requests, "
            f"{step.generation_tokens} generation tokens, "
            f"iteration elapsed time: {step.dur_ns / 1e6:.2f} ms{rest}",
        )

    def _fail_on_purpose(self):
        if self._n_steps == self._faults.number("die-at-step", -1):
            self._log("ERROR", "EngineCore encountered a fatal error: out of memory")
            self._workers.stop()
            os._exit(1)
        if self._n_steps == self._faults.number("worker-dies-at-step", -1):
            self._workers.kill_first()
            self._log(
                "ERROR", "Worker proc VllmWorker-0 died unexpectedly, shutting down executor."
            )
            self._die()

    def _die(self):
        self.is_dead = True
        while not self._waiting.empty():
            self._running.append(self._waiting.get())
        for request in self._running:
            request.out.put(RuntimeError("EngineCore encountered an issue."))
