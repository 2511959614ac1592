"""Attention and MLP of EAGLE heads: missing, or of another size than config.json says."""

import pytest
from model_folders import EAGLE3, LLAMA, eagle3_shapes, eagle_shapes, head_layer

EAGLE = LLAMA | {"num_hidden_layers": 1}


def without(shapes, *parts):
    return {name: n for name, n in shapes.items() if not any(part in name for part in parts)}


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        (("k_proj", "v_proj", "o_proj"), "layers.0.self_attn.k_proj and 2 more"),
        (("mlp",), "layers.0.mlp.gate_proj and 2 more"),
        (("midlayer", "layers.0"), "layers.0.self_attn.q_proj and 6 more"),
    ],
)
@pytest.mark.parametrize("method", ["eagle", "eagle3"])
def test_a_head_without_parts_of_its_layer_drafts_at_random(folders, method, parts, told):
    config, shapes = (EAGLE, eagle_shapes()) if method == "eagle" else (EAGLE3, eagle3_shapes())
    found = folders.verdict(method, folders.draft(config, without(shapes, *parts)))
    expected = f"its weights lack {told}: drafts are random"
    assert (found.outcome, found.reason) == ("likely", expected)
    assert found.remedy == "download all of its files"


def test_each_layer_that_config_counts_is_looked_for(folders):
    config = EAGLE | {"num_hidden_layers": 2}
    found = folders.verdict("eagle", folders.draft(config, eagle_shapes()))
    assert "layers.1.self_attn.q_proj and 6 more" in found.reason
    both = eagle_shapes() | head_layer("layers.1", 64, 64)
    assert folders.verdict("eagle", folders.draft(config, both)).outcome == "works"
    endless = folders.draft(config | {"num_hidden_layers": 2**39}, both)
    assert folders.verdict("eagle", endless).outcome == "likely"


@pytest.mark.parametrize(
    ("method", "config", "shapes", "told"),
    [
        ("eagle", EAGLE, eagle_shapes(), "layers.0.self_attn.q_proj.weight"),
        ("eagle3", EAGLE3, eagle3_shapes(), "midlayer.self_attn.q_proj.weight"),
    ],
)
def test_a_size_that_config_contradicts_does_not_load(folders, method, config, shapes, told):
    n_inputs = 64 if method == "eagle" else 128
    found = folders.verdict(method, folders.draft(config, shapes | {told: [32, n_inputs]}))
    reason = f"its {told} is 32 x {n_inputs}, not 64 x {n_inputs}"
    assert (found.outcome, found.reason) == ("fails", reason)


def test_attention_of_an_eagle3_head_reads_two_states(folders):
    shapes = eagle3_shapes() | {"midlayer.self_attn.k_proj.weight": [32, 64]}
    found = folders.verdict("eagle3", folders.draft(EAGLE3, shapes))
    assert found.reason == "its midlayer.self_attn.k_proj.weight is 32 x 64, not 32 x 128"


@pytest.mark.parametrize(
    "more",
    [
        {"quantization_config": {"quant_method": "fp8"}},
        {"architectures": ["Eagle3DeepseekV2ForCausalLM"]},
    ],
)
def test_heads_of_other_layers_are_not_judged_by_these(folders, more):
    shapes = without(eagle3_shapes(), "k_proj")
    assert folders.verdict("eagle3", folders.draft(EAGLE3 | more, shapes)).outcome == "works"
