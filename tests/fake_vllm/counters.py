"""The counters of /metrics, as prometheus_client writes them."""

import math
from collections import defaultdict

COUNTERS = ("prompt_tokens", "generation_tokens", "num_preemptions")
SPECULATIVE = (
    "spec_decode_num_drafts", "spec_decode_num_draft_tokens", "spec_decode_num_accepted_tokens",
)  # fmt: skip
HISTOGRAMS = (
    "iteration_tokens_total", "time_to_first_token_seconds", "inter_token_latency_seconds",
    "e2e_request_latency_seconds", "request_queue_time_seconds", "request_prefill_time_seconds",
    "request_decode_time_seconds", "request_inference_time_seconds", "request_generation_tokens",
)  # fmt: skip


class Counters:
    """Counters and histograms of one engine; kept by the engine's thread alone."""

    def __init__(self, model, n_draft_tokens):
        self._label = f'engine="0",model_name="{model}"'
        self._n_draft_tokens = n_draft_tokens
        self.values = defaultdict(float)
        self._seen = {name: [0, 0.0] for name in HISTOGRAMS}
        self.n_running = 0

    def add(self, name, amount):
        self.values[name] += amount

    def observe(self, name, value, times=1):
        self._seen[name][0] += times
        self._seen[name][1] += value * times

    def drafted(self, n_accepted):
        """One request checked its drafts and accepted so many."""
        self.add("spec_decode_num_drafts", 1)
        self.add("spec_decode_num_draft_tokens", self._n_draft_tokens)
        self.add("spec_decode_num_accepted_tokens", n_accepted)
        for position in range(n_accepted):
            self.add(f"position {position}", 1)

    def text(self):
        lines = ["# TYPE python_info gauge", 'python_info{version="3.11"} 1.0']
        names = COUNTERS + (SPECULATIVE if self._n_draft_tokens else ())
        for name in names:
            lines += self._counter(name, [(self._label, self.values[name])])
        if self._n_draft_tokens:
            lines += self._counter("spec_decode_num_accepted_tokens_per_pos", self._positions())
        lines += self._counter("request_success", self._finished())
        lines += self._gauge("num_requests_running", self.n_running)
        lines += self._gauge("num_requests_waiting", 0)
        lines += self._gauge("kv_cache_usage_perc", 0)
        for name, (count, total) in self._seen.items():
            lines += self._histogram(name, count, total)
        return "\n".join(lines) + "\n"

    def _positions(self):
        for position in range(self._n_draft_tokens):
            yield f'{self._label},position="{position}"', self.values[f"position {position}"]

    def _finished(self):
        yield f'finished_reason="length",{self._label}', self.values["request_success"]
        yield f'finished_reason="abort",{self._label}', 0.0

    def _counter(self, name, samples):
        lines = [f"# HELP vllm:{name}_total {name}.", f"# TYPE vllm:{name}_total counter"]
        return lines + [f"vllm:{name}_total{{{label}}} {value}" for label, value in samples]

    def _gauge(self, name, value):
        return [f"# TYPE vllm:{name} gauge", f"vllm:{name}{{{self._label}}} {float(value)}"]

    def _histogram(self, name, count, total):
        lines = [f"# HELP vllm:{name} {name}.", f"# TYPE vllm:{name} histogram"]
        for edge in (1.0, 8.0, math.inf):
            below = count if edge == math.inf else 0
            edge = "+Inf" if edge == math.inf else edge
            lines.append(f'vllm:{name}_bucket{{{self._label},le="{edge}"}} {float(below)}')
        lines.append(f"vllm:{name}_count{{{self._label}}} {float(count)}")
        return [*lines, f"vllm:{name}_sum{{{self._label}}} {total}"]
