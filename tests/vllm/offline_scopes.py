"""Runs vLLM in one process and profiles it: `offline_scopes.py METHOD MODELS OUT`.

A program for the interpreter of a vLLM environment, started by test_scopes.py. METHOD is one of
spec_models.METHODS or `baseline`, MODELS the folder that spec_models.py made.
"""

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

PROMPTS = ("drafts, drafts, drafts and", "one two one two one two", "verify")
N_TOKENS = 24


def main(method: str, models: Path, out: Path) -> None:
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
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
