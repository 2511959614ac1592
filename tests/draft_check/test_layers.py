"""Weights that config.json promises and the folder does not have, or has otherwise."""

import pytest
from model_folders import LLAMA, llama_shapes, tokens, write_weights

from tracekit.draft_check import check_draft


@pytest.fixture
def verdict(folders):
    """Verdict for a draft of these shapes by method draft_model."""

    def of(shapes, config=LLAMA):
        return folders.verdict("draft_model", folders.draft(config, shapes, tokens(100)))

    return of


def without(*layers):
    marks = [f".layers.{i}." for i in layers]
    return {name: n for name, n in llama_shapes().items() if not any(m in name for m in marks)}


@pytest.mark.parametrize(
    ("layers", "told"),
    [
        ([7], "its weights lack layer 7"),
        ([0, 5], "its weights lack layers 0, 5"),
        (range(8), "its weights lack layers 0, 1, 2 and 5 more"),
        ([1, 2, 3, 4, 5], "its weights lack layers 1, 2, 3 and 2 more"),
    ],
)
def test_layers_without_weights_do_not_load(verdict, layers, told):
    found = verdict(without(*layers))
    assert (found.outcome, found.remedy) == ("fails", "download all of its files")
    assert found.reason == f"{told}; config.json says 8 layers"


def test_a_target_that_lacks_a_layer_has_no_method_that_works(folders):
    write_weights(folders.target / "model.safetensors", without(7))
    verdicts = check_draft(folders.target).verdicts
    assert {row.outcome for row in verdicts} == {"fails"}
    assert verdicts[-1].reason == "target: its weights lack layer 7; config.json says 8 layers"


def test_more_layers_than_config_counts_have_no_place(verdict):
    found = verdict(llama_shapes(), LLAMA | {"num_hidden_layers": 6})
    assert found.reason == "its weights have layers 6, 7 too; config.json says 6 layers"
    other = verdict(llama_shapes(), LLAMA | {"num_hidden_layers": 6, "architectures": ["X"]})
    assert "too;" not in other.reason


def test_any_number_of_layers_is_only_counted(verdict):
    found = verdict(llama_shapes(), LLAMA | {"num_hidden_layers": 2**40 - 1})
    assert "lack layers 8, 9, 10 and 1,099,511,627,764 more" in found.reason


@pytest.mark.parametrize(
    "prefix",
    ["model.", "", "language_model.model.", "model.language_model.", "transformer.encoder."],
)
def test_layers_of_the_language_model_are_known_by_their_names(verdict, prefix):
    more = {f"vision_tower.encoder.layers.{i}.norm.weight": [64] for i in range(8)}
    shapes = {name.replace("model.layers", f"{prefix}layers"): n for name, n in without(3).items()}
    assert "lack layer 3;" in verdict(shapes | more).reason


@pytest.mark.parametrize("config", [{}, {"block_configs": [{}]}])
def test_names_of_no_known_form_are_a_doubt(verdict, config):
    shapes = without(3)
    if not config:
        parts = {name.replace("layers", "part"): n for name, n in shapes.items()}
        shapes = {name.replace("model.", "trunk."): n for name, n in parts.items()}
    found = verdict(shapes, LLAMA | config)
    told = "whether its weights have all 8 layers cannot be told"
    assert (found.outcome, found.reason) == ("likely", told)
