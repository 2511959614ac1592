"""Starts vLLM with one draft after another and has it draft: `offline_drafts.py < CASES`.

A case is a line of JSON: `target`, a folder, and `config`, the speculative configuration. Prints a
line of JSON for each: the error, null where there was none.
"""

import gc
import json
import sys

from vllm import LLM, SamplingParams
from vllm.distributed import cleanup_dist_env_and_memory

SMALL = {"max_model_len": 256, "max_num_seqs": 2, "dtype": "bfloat16", "enforce_eager": True}


def attempt(target: str, config: dict[str, object]) -> str | None:
    gc.freeze()  # vLLM collects garbage six times a start, and its modules alone take 0.4 s each
    llm = None
    try:
        llm = LLM(model=target, speculative_config=config, **SMALL)
        llm.generate("the name of the", SamplingParams(max_tokens=8, temperature=0))
    except Exception as error:  # noqa: BLE001  # whatever it is, it is the answer
        return f"{type(error).__name__}: {error}"
    finally:
        del llm
        gc.collect()
        cleanup_dist_env_and_memory()


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(f"ERROR {json.dumps(attempt(**json.loads(line)))}\n")
