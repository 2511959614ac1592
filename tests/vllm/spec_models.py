"""Tiny drafters for each of vLLM's methods, and the speculative configuration that names them.

As a program of a vLLM environment's interpreter it makes the models: `spec_models.py FOLDER`, with
sample_traces/ on PYTHONPATH. A test imports it for `speculative`; nothing here loads torch then.
"""

import json
import shutil
import sys
from pathlib import Path

N_DRAFT_TOKENS = 3
METHODS = ("ngram", "draft_model", "eagle", "eagle3", "medusa")
NOISE = {"same": 0.0, "noisy": 0.045}
"""Copies of the wide target that draft for it, by how far each weight is off; `random` is none."""

WIDTH = 512
"""Of a target whose steps are longer than the server's front end takes for a token."""

_FOLDERS = {
    "draft_model": "tiny-llama-draft",
    "eagle": "tiny-eagle",
    "eagle3": "tiny-eagle3",
    "medusa": "tiny-medusa",
}


def target(folder: Path) -> Path:
    """The model that the drafters of the folder draft for."""
    return folder / "tiny-llama"


def speculative(method: str, folder: Path) -> dict[str, object] | None:
    """Value of --speculative-config for a method; None for `baseline`."""
    if method == "baseline":
        return None
    config: dict[str, object] = {"method": method, "num_speculative_tokens": N_DRAFT_TOKENS}
    if method == "ngram":
        return config | {"prompt_lookup_min": 1, "prompt_lookup_max": 3}
    return config | {"model": str(folder / _FOLDERS[method])}


def wide_target(folder: Path) -> Path:
    """The model that copies of it draft for."""
    return folder / "wide-llama-same"


def copy_drafts(name: str, folder: Path) -> dict[str, object]:
    """Value of --speculative-config for a copy of the wide target, or for `random`."""
    config = {"method": "draft_model", "num_speculative_tokens": N_DRAFT_TOKENS}
    return config | {"model": str(folder / f"wide-llama-{name}")}


def make_models(folder: Path) -> None:
    """Makes the target and a drafter for each method, with random weights."""
    from tiny_models import make_models as make_target_and_draft

    make_target_and_draft(folder)
    config = json.loads((target(folder) / "config.json").read_text())
    for method, (architecture, weights) in _heads(config).items():
        _save(folder / _FOLDERS[method], config | architecture, weights)
    _make_wide(folder)


def _heads(
    config: dict[str, int],
) -> dict[str, tuple[dict[str, object], dict[str, tuple[int, ...]]]]:
    """Configuration and weight shapes of the drafters that read the target's hidden states.

    Source: vllm/model_executor/models/llama_eagle.py, llama_eagle3.py and medusa.py of 0.32.
    """
    hidden, vocab = config["hidden_size"], config["vocab_size"]
    eagle3 = {"draft_vocab_size": vocab, "eagle_aux_hidden_state_layer_ids": [1, 2, 3]}
    medusa = {"model_type": "medusa", "architectures": ["MedusaModel"], "num_heads": N_DRAFT_TOKENS}
    return {
        "eagle": (
            {"num_hidden_layers": 1},
            {"fc.weight": (hidden, 2 * hidden)}
            | _layer("layers.0", config, n_inputs=hidden, norms=("post_attention_layernorm",)),
        ),
        "eagle3": (
            {"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1} | eagle3,
            {"fc.weight": (hidden, 3 * hidden), "norm.weight": (hidden,)}
            | {"lm_head.weight": (vocab, hidden)}
            | _layer(
                "midlayer",
                config,
                n_inputs=2 * hidden,
                norms=("input_layernorm", "hidden_norm", "post_attention_layernorm"),
            ),
        ),
        "medusa": (
            {"num_hidden_layers": 1} | medusa,
            {f"blocks.{i}.layers.0.weight": (hidden, hidden) for i in range(N_DRAFT_TOKENS)}
            | {f"lm_heads.{i}.weight": (vocab, hidden) for i in range(N_DRAFT_TOKENS)},
        ),
    }


def _layer(
    prefix: str, config: dict[str, int], n_inputs: int, norms: tuple[str, ...]
) -> dict[str, tuple[int, ...]]:
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    n_kv = hidden // config["num_attention_heads"] * config["num_key_value_heads"]
    shapes: dict[str, tuple[int, ...]] = {
        "self_attn.q_proj": (hidden, n_inputs),
        "self_attn.k_proj": (n_kv, n_inputs),
        "self_attn.v_proj": (n_kv, n_inputs),
        "self_attn.o_proj": (hidden, hidden),
        "mlp.gate_proj": (inner, hidden),
        "mlp.up_proj": (inner, hidden),
        "mlp.down_proj": (hidden, inner),
    } | {norm: (hidden,) for norm in norms}
    return {f"{prefix}.{name}.weight": shape for name, shape in shapes.items()}


def _save(folder: Path, config: dict[str, object], shapes: dict[str, tuple[int, ...]]) -> None:
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(0)
    weights = {name: _weight(shape) for name, shape in shapes.items()}
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def _make_wide(folder: Path) -> None:
    import torch
    from tiny_models import add_noise, config
    from transformers import LlamaForCausalLM

    for name, noise in {**NOISE, "random": 0.0}.items():
        torch.manual_seed(len(name) if name == "random" else 0)
        model = LlamaForCausalLM(config(WIDTH)).to(torch.bfloat16)
        add_noise(model, noise)
        path = folder / f"wide-llama-{name}"
        shutil.copytree(target(folder), path)  # for its tokenizer
        model.save_pretrained(path)


def _weight(shape: tuple[int, ...]):
    import torch

    if len(shape) == 1:  # a norm's
        return torch.ones(shape, dtype=torch.bfloat16)
    return (0.02 * torch.randn(shape)).to(torch.bfloat16)


if __name__ == "__main__":
    make_models(Path(sys.argv[1]))
