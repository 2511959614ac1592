"""Heads on the target's hidden states: EAGLE, EAGLE-3, Medusa; and layers within the target."""

import json

import pytest
from model_folders import (
    EAGLE3,
    KIMI,
    LLAMA,
    eagle3_shapes,
    eagle_shapes,
    llama_shapes,
    medusa_shapes,
    tokens,
    write_weights,
)

from tracekit.draft_check import check_draft

LAYER_IDS = "eagle_aux_hidden_state_layer_ids"
EAGLE = LLAMA | {"num_hidden_layers": 1}
MEDUSA = {"model_type": "medusa", "hidden_size": 64, "vocab_size": 100, "num_heads": 3}


def test_an_eagle_head_works_by_its_method_alone(folders):
    draft = folders.draft(EAGLE, eagle_shapes())
    outcomes = {row.method: row.outcome for row in check_draft(folders.target, draft).verdicts}
    assert outcomes == {
        "draft_model": "fails",
        "eagle": "works",
        "eagle3": "fails",
        "medusa": "fails",
        "mtp": "fails",
        "ngram": "works",
    }
    assert folders.verdict("draft_model", draft).remedy == "use method eagle"


@pytest.mark.parametrize(
    ("config", "shapes", "reason"),
    [
        (
            EAGLE | {"hidden_size": 32},
            eagle_shapes(32),
            "made for hidden size 32; the target has 64",
        ),
        (EAGLE, eagle_shapes() | {"fc.weight": [64, 192]}, "its fc is 64 x 192, not 64 x 128"),
        (EAGLE | {"architectures": ["NewForCausalLM"]}, eagle_shapes(), "no EagleNewForCausalLM"),
        (LLAMA, llama_shapes(), "no EAGLE head: its weights have no fc"),
        (EAGLE3, eagle3_shapes(), "no EAGLE head: EAGLE-3 head"),
    ],
)
def test_what_is_no_eagle_head_for_this_target(folders, config, shapes, reason):
    found = folders.verdict("eagle", folders.draft(config, shapes))
    assert found.outcome == "fails"
    assert reason in found.reason


def test_an_eagle_head_of_another_vocabulary_is_a_doubt(folders):
    draft = folders.draft(EAGLE | {"vocab_size": 90}, eagle_shapes())
    found = folders.verdict("eagle", draft)
    expected = ("likely", "vocabulary of 90 entries; the target has 100")
    assert (found.outcome, found.reason) == expected


def test_a_head_without_safetensors_is_a_doubt(folders):
    draft = folders.draft(EAGLE)
    (draft / "pytorch_model.bin").write_bytes(b"PK")
    found = folders.verdict("eagle", draft)
    assert found.outcome == "likely"
    assert found.reason.endswith("only pytorch_model.bin, which are not read")


def test_an_eagle3_head_works_with_default_layers_on_a_deep_target(folders):
    draft = folders.draft(EAGLE3, eagle3_shapes())
    assert folders.verdict("eagle3", draft).outcome == "works"
    assert folders.check("layers read", draft).target == "default 2, 4, 5"


@pytest.mark.parametrize(
    ("n_layers", "outcome"), [(3, "works"), (4, "fails"), (5, "fails"), (6, "fails"), (7, "works")]
)
def test_default_layers_have_to_be_three_different_ones(folders, n_layers, outcome):
    config = LLAMA | {"num_hidden_layers": n_layers}
    target = folders.draft(config, llama_shapes(config), folder="shallow")
    draft = folders.draft(EAGLE3, eagle3_shapes())
    found = folders.verdict("eagle3", draft, target)
    assert found.outcome == outcome
    if n_layers == 4:
        expected = "default layers (2, 2, 1) are 2 of the target's 4; its fc joins 3"
        assert found.reason == expected
        assert LAYER_IDS in found.remedy


@pytest.mark.parametrize(
    ("more", "n_fc", "outcome"),
    [
        ({LAYER_IDS: [1, 2, 3]}, 3, "works"),
        ({LAYER_IDS: [0, 4, 8]}, 3, "works"),
        ({LAYER_IDS: [1, 2]}, 3, "fails"),
        ({LAYER_IDS: [1, 2, 9]}, 3, "fails"),
        ({LAYER_IDS: [1, 2, 2]}, 3, "fails"),
        ({"eagle_config": {LAYER_IDS: [1, 2, 3, 4]}, LAYER_IDS: [1, 2, 3, 4]}, 4, "works"),
        ({"eagle_config": {LAYER_IDS: [1, 2, 3, 4]}}, 4, "likely"),  # not by the V2 runner
        ({"eagle_config": {LAYER_IDS: [2, 4, 5]}}, 3, "works"),  # but these are its default
        ({LAYER_IDS: [1, 2, 3, 4]}, 4, "fails"),  # Llama's counts only those of eagle_config
        ({LAYER_IDS: [1, 2, 3, 4], "num_aux_hidden_states": 4}, 4, "works"),
        ({LAYER_IDS: [1, 2, 3, 4], "architectures": ["Qwen3ForCausalLM"]}, 4, "works"),
        ({LAYER_IDS: "all"}, 3, "works"),
        ({"eagle_config": {"use_aux_hidden_state": False}}, 1, "works"),
    ],
)
def test_the_layers_given_have_to_be_as_many_as_the_head_joins(folders, more, n_fc, outcome):
    draft = folders.draft(EAGLE3 | more, eagle3_shapes(n=n_fc))
    assert folders.verdict("eagle3", draft).outcome == outcome


def test_a_head_may_be_narrower_than_the_target_it_reads(folders):
    config = EAGLE3 | {"hidden_size": 32, "target_hidden_size": 64}
    shapes = eagle3_shapes(hidden=32, target_hidden=64)
    own = shapes | {"embed_tokens.weight": [100, 32]}
    assert folders.verdict("eagle3", folders.draft(config, own)).outcome == "works"
    found = folders.verdict("eagle3", folders.draft(config, shapes))
    assert "no embedding of its own" in found.reason
    other = folders.draft(config | {"target_hidden_size": 128}, own)
    assert "made for hidden size 128" in folders.verdict("eagle3", other).reason


@pytest.mark.parametrize(
    ("config", "shapes", "outcome", "reason"),
    [
        ({"draft_vocab_size": 32}, {"d2t": [32]}, "works", ""),
        ({"draft_vocab_size": 32}, {}, "likely", "without a d2t table"),
        ({"draft_vocab_size": 32}, {"d2t": [16]}, "fails", "its d2t has 16 entries"),
        ({"draft_vocab_size": 64}, {"d2t": [64]}, "fails", "its lm_head is 32 x 64"),
        ({"vocab_size": 32}, {}, "likely", "vocabulary of 32 entries"),
        (
            {"vocab_size": 200, "draft_vocab_size": 100},
            {"lm_head.weight": [100, 64]},
            "fails",
            "vocabulary of 200 entries",
        ),
    ],
)
def test_a_draft_vocabulary_needs_its_table(folders, config, shapes, outcome, reason):
    draft = folders.draft(EAGLE3 | config, eagle3_shapes(vocab=32) | shapes)
    found = folders.verdict("eagle3", draft)
    assert (found.outcome, reason in found.reason) == (outcome, True)


def test_without_an_lm_head_the_targets_is_shared(folders):
    shapes = {name: shape for name, shape in eagle3_shapes().items() if "lm_head" not in name}
    assert folders.verdict("eagle3", folders.draft(EAGLE3, shapes)).outcome == "works"
    small = folders.draft(EAGLE3 | {"draft_vocab_size": 32}, shapes | {"d2t": [32]})
    found = folders.verdict("eagle3", small)
    assert found.outcome == "likely"
    assert "by the first 32 of the target's rows" in found.reason


def test_a_target_that_keeps_its_hidden_states(folders):
    config = LLAMA | {"architectures": ["MambaForCausalLM"]}
    target = folders.draft(config, llama_shapes(), folder="mamba")
    found = folders.verdict("eagle3", folders.draft(EAGLE3, eagle3_shapes()), target)
    assert found.reason == "MambaForCausalLM does not support EAGLE-3 in vLLM 0.32.0"


def test_the_speculators_format_is_read(folders):
    config = {"speculators_model_type": "eagle3", "draft_vocab_size": 32}
    config["architectures"] = ["Eagle3Speculator"]
    config["transformer_layer_config"] = EAGLE3 | {"model_type": "llama"}
    draft = folders.draft(config, eagle3_shapes(vocab=32) | {"d2t": [32]})
    assert folders.verdict("eagle3", draft).outcome == "works"


def test_medusa_heads_are_counted(folders):
    found = folders.verdict("medusa", folders.draft(MEDUSA, medusa_shapes(3)))
    assert found.outcome == "works"
    assert found.reason.startswith("num_speculative_tokens at most 3, its number of heads")


def test_medusa_heads_by_their_old_names(folders):
    old = {"0.0.linear.weight": [64, 64], "0.1.weight": [100, 64], "1.0.linear.weight": [64, 64]}
    draft = folders.draft({"medusa_num_heads": 2, "hidden_size": 64}, old)
    assert folders.check("Medusa heads", draft).draft == "2"
    assert folders.verdict("medusa", draft).outcome == "works"


@pytest.mark.parametrize(
    ("config", "shapes", "reason"),
    [
        ({"hidden_size": 32}, medusa_shapes(hidden=32), "made for hidden size 32"),
        ({}, medusa_shapes(vocab=90), "its heads are 90 x 64"),
        ({"architectures": ["LlamaForCausalLM"]}, medusa_shapes(), "in place of MedusaModel"),
        ({}, llama_shapes(), "no Medusa heads among its weights"),
    ],
)
def test_what_are_no_medusa_heads_for_this_target(folders, config, shapes, reason):
    found = folders.verdict("medusa", folders.draft(MEDUSA | config, shapes))
    assert found.outcome == "fails"
    assert reason in found.reason


def alone(folder):
    return {row.method: row for row in check_draft(folder).verdicts}


def kimi_shapes(n_layers):
    return {f"model.layers.{i}.input_layernorm.weight": [7168] for i in range(n_layers)}


def test_kimi_k2_has_no_mtp_layers_inside(folders):
    found = alone(folders.draft(KIMI, kimi_shapes(61), folder="kimi"))
    assert list(found) == ["mtp", "ngram"]
    assert found["mtp"].reason == ("no MTP layers in the target: num_nextn_predict_layers is 0")
    assert found["ngram"].outcome == "works"


def test_deepseek_has_one_and_its_weights_are_looked_for(folders):
    config = KIMI | {"model_type": "deepseek_v3", "num_nextn_predict_layers": 1}
    target = folders.draft(config, kimi_shapes(62), folder="v3")
    assert alone(target)["mtp"].outcome == "works"
    write_weights(target / "model.safetensors", kimi_shapes(61))
    assert "weights have none" in alone(target)["mtp"].reason
    (target / "model.safetensors").unlink()
    assert alone(target)["mtp"].outcome == "likely"


def test_an_index_alone_tells_the_names(folders):
    config = KIMI | {"model_type": "deepseek_v3", "num_nextn_predict_layers": 1}
    target = folders.draft(config, folder="v3")
    weight_map = {"model.layers.61.enorm.weight": "model-00001-of-00002.safetensors"}
    (target / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    found = alone(target)["mtp"]
    missing = "target: 1 of 1 files of model.safetensors.index.json are missing"
    assert (found.outcome, found.reason) == ("fails", missing)


def test_layers_of_a_type_that_is_not_known(folders):
    target = folders.draft(LLAMA | {"num_nextn_predict_layers": 2}, folder="new")
    assert alone(target)["mtp"].outcome == "likely"


def test_a_draft_with_mtp_layers_is_judged_in_place_of_the_target(folders):
    config = LLAMA | {"model_type": "deepseek_mtp", "architectures": ["DeepSeekMTPModel"]}
    config["num_nextn_predict_layers"] = 1
    draft = folders.draft(config, {"model.layers.8.eh_proj.weight": [64, 128]}, tokens(100))
    found = folders.verdict("mtp", draft)
    assert (found.outcome, found.reason[:14]) == ("works", "1 in the draft")
