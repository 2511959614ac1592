"""Matrices of plain layers: missing, or of another size than config.json says."""

import pytest
from model_folders import LLAMA, llama_shapes, tokens, write_weights

Q = "model.layers.2.self_attn.q_proj.weight"
K = "model.layers.2.self_attn.k_proj.weight"
OUT = "model.layers.2.self_attn.o_proj.weight"
DOWN = "model.layers.2.mlp.down_proj.weight"


@pytest.fixture
def verdict(folders):
    """Verdict for a draft with these shapes in place of its own; None: without that tensor."""

    def of(changed, config=LLAMA, **more):
        shapes = llama_shapes(config) | changed
        kept = {name: shape for name, shape in shapes.items() if shape is not None}
        draft = folders.draft(config | more, kept, tokens(100))
        return folders.verdict("draft_model", draft)

    return of


@pytest.mark.parametrize(
    ("name", "shape", "told"),
    [
        (Q, [64, 128], f"its {Q} is 64 x 128, not 64 x 64"),
        (Q, [32, 64], f"its {Q} is 32 x 64, not 64 x 64"),
        (Q, [64], f"its {Q} is 64, not 64 x 64"),
        (K, [16, 64], f"its {K} is 16 x 64, not 32 x 64"),
        (OUT, [128, 64], f"its {OUT} is 128 x 64, not 64 x 64"),
        (DOWN, [64, 64], f"its {DOWN} is 64 x 64, not 64 x 128"),
        (
            "model.embed_tokens.weight",
            [100, 32],
            "its embedding is 100 x 32, its hidden_size is 64",
        ),
        ("lm_head.weight", [100, 128], "its lm_head is 100 x 128, its hidden_size is 64"),
    ],
)
def test_a_size_that_config_contradicts_does_not_load(verdict, name, shape, told):
    found = verdict({name: shape})
    assert (found.outcome, found.reason) == ("fails", told)
    assert found.remedy


@pytest.mark.parametrize(("name", "shape"), [(K, [64, 64]), (OUT, [64, 128]), (DOWN, [64, 256])])
def test_a_longer_matrix_is_taken_in_part(verdict, name, shape):
    found = verdict({name: shape})
    assert found.outcome == "likely"
    assert found.reason.endswith("of which vLLM takes the first part")


def test_the_worst_misfit_comes_first_with_how_many_more(verdict):
    found = verdict({K: [64, 64], DOWN: [64, 64], Q: [32, 64]})
    assert found.reason == f"its {Q} is 32 x 64, not 64 x 64 (2 more do not fit)"


@pytest.mark.parametrize(
    "config",
    [
        LLAMA | {"head_dim": 32},
        LLAMA | {"num_attention_heads": 14},
        {key: value for key, value in LLAMA.items() if key != "intermediate_size"},
        LLAMA | {"architectures": ["Qwen3ForCausalLM"]},  # whose head_dim is none of hidden / heads
        LLAMA | {"architectures": ["Phi3ForCausalLM"]},
        LLAMA | {"quantization_config": {"quant_method": "gptq"}},
    ],
)
def test_what_config_does_not_tell_is_not_judged(folders, config):
    shapes = llama_shapes(LLAMA | config)
    untold = config.get("quantization_config") or "Phi3" in config["architectures"][0]
    shapes |= {Q: [8, 8], DOWN: None} if untold else {}
    kept = {name: shape for name, shape in shapes.items() if shape}
    target = folders.draft(config, kept, tokens(100), folder="same")
    assert folders.verdict("ngram", None, target).outcome == "works"


def test_packed_matrices_are_not_judged(folders):
    draft = folders.draft(LLAMA, llama_shapes(), tokens(100))
    packed = llama_shapes() | {Q: [8, 64]}
    write_weights(draft / "model.safetensors", packed, dtype="I32")
    assert folders.verdict("draft_model", draft).outcome == "works"


def test_a_missing_matrix_is_random_and_a_missing_norm_does_not_load(verdict):
    found = verdict({DOWN: None, Q: None})
    told = "its weights lack layers.2.self_attn.q_proj and 1 more: drafts are random"
    assert (found.outcome, found.reason) == ("likely", told)
    found = verdict({"model.layers.3.input_layernorm.weight": None, "model.norm.weight": None})
    assert (found.outcome, found.reason) == (
        "fails",
        "its weights lack layers.3.input_layernorm and 1 more",
    )


def test_joined_matrices_are_another_layout(verdict):
    joined = {f"model.layers.{i}.self_attn.qkv_proj.weight": [128, 64] for i in range(8)}
    assert verdict({Q: None, K: None} | joined).outcome == "works"


def test_a_target_is_held_to_the_same(folders):
    write_weights(folders.target / "model.safetensors", llama_shapes() | {Q: [32, 64]})
    found = folders.verdict("ngram", None)
    assert (found.outcome, found.reason[: len(Q) + 12]) == ("fails", f"target: its {Q}")
    shapes = {name: shape for name, shape in llama_shapes().items() if name != DOWN}
    write_weights(folders.target / "model.safetensors", shapes)
    found = folders.verdict("ngram", None)
    told = "target: its weights lack layers.2.mlp.down_proj: answers are random; needs no draft"
    assert (found.outcome, found.reason[: len(told)]) == ("likely", told)
