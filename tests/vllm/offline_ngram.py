"""Runs vLLM in one process with n-gram drafts and profiles it: OUT becomes a run folder.

A program for the interpreter of a vLLM environment, started by test_real_vllm.py.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ |= {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CUSTOM_SCOPES_FOR_PROFILING": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_HOST_IP": "127.0.0.1",
    "GLOO_SOCKET_IFNAME": "lo",
}

from prometheus_client import generate_latest
from tiny_models import make_models
from vllm import LLM, SamplingParams

PROMPTS = ("drafts, drafts, drafts and", "one two one two one two", "verify")
N_TOKENS = 16


def main(out: Path) -> None:
    (out / "metrics").mkdir(parents=True)
    (out / "models" / "target").mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        target, _ = make_models(Path(folder))
        shutil.copy(target / "config.json", out / "models" / "target")
        llm = LLM(
            model=str(target),
            dtype="bfloat16",
            max_model_len=1024,
            enforce_eager=True,
            enable_prefix_caching=False,
            disable_log_stats=False,
            speculative_config={
                "method": "ngram",
                "num_speculative_tokens": 3,
                "prompt_lookup_min": 1,
                "prompt_lookup_max": 3,
            },
            profiler_config={
                "profiler": "torch",
                "torch_profiler_dir": str(out / "traces"),
                "torch_profiler_with_stack": False,
            },
        )
    sampling = SamplingParams(temperature=0, max_tokens=N_TOKENS, ignore_eos=True)
    llm.generate(PROMPTS[0], sampling)
    (out / "metrics" / "before.prom").write_bytes(generate_latest())
    llm.start_profile()
    llm.generate(PROMPTS, sampling)
    llm.stop_profile()
    (out / "metrics" / "after.prom").write_bytes(generate_latest())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
