"""What each vLLM version has: switches, profiler keys, names of files and annotations.

Source: vllm/envs.py, vllm/config/profiler.py and vllm/v1 of the versions named.
"""

from dataclasses import dataclass

VERSIONS = (
    "0.10.2", "0.11.0", "0.12.0", "0.13.0", "0.14.1", "0.16.0", "0.18.1", "0.26.0", "0.32.0",
    "0.33.0",
)  # fmt: skip

_ENVIRONMENT = {  # variable: setting it gives
    "VLLM_TORCH_PROFILER_DIR": "torch_profiler_dir",
    "VLLM_TORCH_PROFILER_RECORD_SHAPES": "torch_profiler_record_shapes",
    "VLLM_TORCH_PROFILER_WITH_PROFILE_MEMORY": "torch_profiler_with_memory",
    "VLLM_TORCH_PROFILER_WITH_STACK": "torch_profiler_with_stack",
    "VLLM_TORCH_PROFILER_WITH_FLOPS": "torch_profiler_with_flops",
}
_ENVIRONMENT_FROM_0_12 = {
    "VLLM_TORCH_PROFILER_DISABLE_ASYNC_LLM": "ignore_frontend",
    "VLLM_PROFILER_DELAY_ITERS": "delay_iterations",
    "VLLM_PROFILER_MAX_ITERS": "max_iterations",
    "VLLM_TORCH_PROFILER_USE_GZIP": "torch_profiler_use_gzip",
    "VLLM_TORCH_PROFILER_DUMP_CUDA_TIME_TOTAL": "torch_profiler_dump_cuda_time_total",
}
_KEYS = {
    "profiler": None,
    "torch_profiler_dir": "",
    "torch_profiler_with_stack": True,
    "torch_profiler_with_flops": False,
    "torch_profiler_use_gzip": True,
    "torch_profiler_dump_cuda_time_total": True,
    "torch_profiler_record_shapes": False,
    "torch_profiler_with_memory": False,
    "ignore_frontend": False,
    "delay_iterations": 0,
    "max_iterations": 0,
}
_SCHEDULE = {"warmup_iterations": 0, "active_iterations": 5, "wait_iterations": 0}
_FROM_0_26 = {"capture_torch_profiler": False, "detailed_trace_annotation": False}
_FROM_0_32 = {"torch_profiler_activities": None, "proton_profiler_dir": ""}


@dataclass(frozen=True)
class Generation:
    version: str

    def has(self, *since):
        """Whether a feature that came with that version is there."""
        return tuple(map(int, self.version.split("."))) >= since

    @property
    def environment(self):
        """Profiler variables it reads, and the key each sets; none from 0.16 on."""
        if self.has(0, 15):
            return {}
        return _ENVIRONMENT | (_ENVIRONMENT_FROM_0_12 if self.has(0, 12) else {})

    @property
    def keys(self):
        """Fields of ProfilerConfig with their defaults; empty where there is no such class."""
        if not self.has(0, 13):
            return {}
        keys = _KEYS | (_SCHEDULE if self.has(0, 18) else {})
        keys |= _FROM_0_26 if self.has(0, 26) else {}
        keys |= _FROM_0_32 if self.has(0, 32) else {}
        return keys | ({"torch_profiler_with_stack": False} if self.version == "0.18.1" else {})

    @property
    def defaults(self):
        return self.keys or _KEYS

    @property
    def has_iteration_log(self):
        return self.has(0, 14)

    @property
    def takes_body(self):
        """Whether /start_profile reads profile_prefix, delay_iterations, max_iterations."""
        return self.has(0, 32)

    @property
    def refuses_second_start(self):
        return self.has(0, 33)

    @property
    def redacts_arguments(self):
        """Whether the log line with the arguments hides the API key."""
        return self.has(0, 32)

    def worker_stem(self, host, pid, instance, rank):
        if not self.has(0, 11, 1):
            return f"{host}_{pid}"
        if not self.has(0, 17):
            return f"{instance}-rank-{rank}"
        return f"rank{rank}" if self.has(0, 32) else f"dp0_pp0_tp{rank}_dcp0_ep0_rank{rank}"

    def annotation(self, step, is_detailed):
        """Name of the span around a step; None where the version writes none."""
        if not self.has(0, 11, 1):
            return None
        if not self.has(0, 14):
            return f"execute_new_{step.context}_cached_{step.generation}"
        if not is_detailed:
            context = f"context_{step.context}({step.context_tokens})"
            return f"execute_{context}_generation_{step.generation}({step.generation_tokens})"
        total = step.context_tokens + step.generation_tokens
        return f"execute_{total}_context_{_load(step.context, step.context_tokens)}" + (
            f"_generation_{_load(step.generation, step.generation_tokens)}"
        )

    def scope(self, phase):
        """Name of an inner scope, written only with VLLM_CUSTOM_SCOPES_FOR_PROFILING=1."""
        return f"gpu_model_runner: {phase}" if self.has(0, 11, 1) else phase.capitalize()

    def table(self, stem, rank):
        """Name of the summary beside a rank's trace; None where there is none."""
        if self.has(0, 32):
            return f"{stem}.profiler_out.txt"
        return f"profiler_out_{rank}.txt" if self.has(0, 12) else None


def _load(requests, tokens):
    return f"{requests}(sq{tokens}sk{tokens * 2}sqsq{tokens**2}sqsk{tokens**2 * 2})"
