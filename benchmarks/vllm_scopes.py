"""What tracekit's vLLM plugin costs a server while no profiler runs.

Run it with an interpreter that has torch, such as that of a vLLM CPU environment:

    FOLDER/bin/python benchmarks/vllm_scopes.py

The time that wrapping adds to one call, times the calls of a decode step with drafts: fails if that
is 0.5 % of a step of 5 ms or more. Also shown: what an open scope costs while a profiler runs.
"""

import gc
import sys
import timeit
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "collectors" / "engines" / "vllm_plugin"))

import tracekit_scopes as plugin  # noqa: E402  # found through the line above, as vLLM finds it

STEP_US = 5000.0
ALLOWED_SHARE = 0.005
N_CALLS, N_REPEATS = 100_000, 15
N_PROFILED_CALLS = 5_000
# execute_model asks too. V2 runs the model in one of three ways, which may hold its forward.
CALLS_PER_STEP = {"V1": len(plugin.V1.methods) + len(plugin.V1.objects) + 1, "V2": 7}


class Runner:
    """Stands for a model runner; the method has the arguments of a target's pass."""

    def _model_forward(self, input_ids=None, positions=None, **model_kwargs):
        return None


def call_us(call: Callable[[], object], n: int) -> float:
    """Least time of one call; the least, since all else is the machine's noise."""
    return min(timeit.repeat(call, number=n, repeat=N_REPEATS)) / n * 1e6


def added_us(n: int) -> float:
    """What wrapping adds to a call in the present state of the profiler."""
    runner, ids = Runner(), [7]
    plain, wrapped = Runner._model_forward, plugin._scoped(Runner._model_forward, plugin.FORWARD)
    return call_us(lambda: wrapped(runner, input_ids=ids, positions=ids), n) - call_us(
        lambda: plain(runner, input_ids=ids, positions=ids), n
    )


def main() -> None:
    """Prints the table; exit status 1 if the idle plugin costs too much."""
    gc.disable()
    idle = added_us(N_CALLS)
    with torch.profiler.profile():
        profiled = added_us(N_PROFILED_CALLS)
    print(
        f"torch {torch.__version__}: {idle:.3f} us a call idle, {profiled:.1f} us with a profiler"
    )
    worst = 0.0
    for runner, calls in CALLS_PER_STEP.items():
        share = calls * idle / STEP_US
        worst = max(worst, share)
        print(f"{runner}: {calls} calls a step, {calls * idle:.2f} us, {share:.4%} of 5 ms")
    if worst >= ALLOWED_SHARE:
        sys.exit(f"vllm_scopes.py: {worst:.2%} of a step is {ALLOWED_SHARE:.1%} or more")


if __name__ == "__main__":
    main()
