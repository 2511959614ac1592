"""Profiles vLLM with one method after another: `offline_scopes.py MODELS OUT METHOD...`.

A program for the interpreter of a vLLM environment, started by test_scopes.py. MODELS is the folder
that spec_models.py made, each METHOD one of spec_models.METHODS or `baseline`; its trace gets into
a folder of OUT with its name. All in one process, as importing vLLM takes longer than a run.
"""

import gc
import os
import sys
from pathlib import Path

os.environ |= {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_HOST_IP": "127.0.0.1",
    "GLOO_SOCKET_IFNAME": "lo",
}

import spec_models
from vllm import LLM, SamplingParams
from vllm.distributed import cleanup_dist_env_and_memory

PROMPTS = ("drafts, drafts, drafts and", "one two one two one two", "verify")
N_TOKENS = 24


def profile(method: str, models: Path, out: Path) -> None:
    gc.freeze()  # vLLM collects garbage six times a start, and its modules alone take 0.4 s each
    llm = LLM(
        model=str(spec_models.target(models)),
        dtype="bfloat16",
        max_model_len=1024,
        enforce_eager=True,
        enable_prefix_caching=False,
        speculative_config=spec_models.speculative(method, models),
        profiler_config={
            "profiler": "torch",
            "torch_profiler_dir": str(out),
            "torch_profiler_with_stack": False,
            "torch_profiler_use_gzip": False,
        },
    )
    sampling = SamplingParams(temperature=0, max_tokens=N_TOKENS, ignore_eos=True)
    llm.generate(PROMPTS, sampling)
    llm.start_profile()
    llm.generate(PROMPTS, sampling)
    llm.stop_profile()


if __name__ == "__main__":
    for name in sys.argv[3:]:
        profile(name, Path(sys.argv[1]), Path(sys.argv[2]) / name)
        gc.collect()
        cleanup_dist_env_and_memory()
