"""Prints what vLLM makes of models with layers for further tokens: `vllm_mtp_types.py < FAMILIES`.

A family is a line of JSON: `model_type`, `architecture`, `keys` of config.json with the number of
layers. Prints a line of JSON for each: the architecture loaded, its layers, whether it is for mtp.
"""

import json
import sys
from typing import get_args

from transformers import PreTrainedConfig
from vllm.config.speculative import MTPModelTypes, SpeculativeConfig

N_LAYERS = 7


def loaded(model_type: str, architecture: str, keys: list[str]) -> list[object]:
    config = PreTrainedConfig(architectures=[architecture], layer_types=["full_attention"])
    config.model_type = model_type
    for key in keys:
        setattr(config, key, N_LAYERS)
    found = SpeculativeConfig.hf_config_override(config)
    is_mtp = found.model_type in get_args(MTPModelTypes)
    return [found.architectures[0], found.n_predict, is_mtp]


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(f"LOADED {json.dumps(loaded(**json.loads(line)))}\n")
