"""What `tracekit check-draft` says, against vLLM itself."""

import json
import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import spec_models
from cpu_server import environment, vllm_python

from tracekit.draft_check import check_draft

pytestmark = pytest.mark.vllm

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DRAFTERS = {
    "draft_model": "tiny-llama-draft",
    "eagle": "tiny-eagle",
    "eagle3": "tiny-eagle3",
    "medusa": "tiny-medusa",
}
LAYER_IDS = "eagle_aux_hidden_state_layer_ids"
REFUSED = (
    ("eagle3", "tiny-eagle3", {LAYER_IDS: None}, "shape '[-1, 768]' is invalid"),
    ("eagle3", "tiny-eagle3", {LAYER_IDS: [1, 2, 9]}, "shape '[-1, 768]' is invalid"),
    ("draft_model", "tiny-llama-draft", {"vocab_size": 1024}, "the same vocabulary size"),
    ("eagle", "tiny-eagle", {"hidden_size": 128}, ""),
    ("eagle", "tiny-llama-draft", {}, "no module or parameter named"),
    ("draft_model", "tiny-eagle", {}, "no module or parameter named 'fc'"),
    ("eagle", "tiny-eagle3", {}, "are not supported"),
    ("mtp", "tiny-llama-draft", {}, "Unsupported speculative method: 'mtp'"),
)
"""Method, drafter, changes of its config.json, and what vLLM 0.32.0 says."""


def answers(script, rows):
    """What a script of this folder says to each row."""
    command = [vllm_python(), HERE / script]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    env = environment() | {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
    done = subprocess.run(command, input=lines, env=env, capture_output=True, text=True, check=True)
    told = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    return [json.loads(words[1]) for words in told if words and words[0] in ("ERROR", "LOADED")]


def changed(folder, config, target):
    """A copy of a model with another config.json."""
    shutil.copytree(folder, target)
    told = json.loads((target / "config.json").read_text()) | config
    kept = {key: value for key, value in told.items() if value is not None}
    (target / "config.json").write_text(json.dumps(kept))
    return target


def case(models, method, draft):
    config = {"method": method, "model": str(draft), "num_speculative_tokens": 3}
    return {"target": str(spec_models.target(models)), "config": config}


def outcome(models, method, draft):
    found = check_draft(spec_models.target(models), draft).verdicts
    return next(row.outcome for row in found if row.method == method)


def test_what_is_said_to_work_starts_and_what_is_said_to_fail_does_not(models, tmp_path):
    drafts = [(method, models / name) for method, name in DRAFTERS.items()]
    drafts += [
        (method, changed(models / name, config, tmp_path / str(i)))
        for i, (method, name, config, _) in enumerate(REFUSED)
    ]
    drafts.append(("draft_model", changed(models / "tiny-llama-draft", {}, tmp_path / "eagle-1")))
    said = [outcome(models, method, draft) for method, draft in drafts]
    assert said == ["works"] * len(DRAFTERS) + ["fails"] * (len(REFUSED) + 1)
    errors = answers("offline_drafts.py", [case(models, *draft) for draft in drafts])
    assert errors[: len(DRAFTERS)] == [None] * len(DRAFTERS)
    texts = [*(text for *_, text in REFUSED), "EagleLlamaForCausalLM"]
    for text, error in zip(texts, errors[len(DRAFTERS) :], strict=True):
        assert error is not None
        assert text in error


def test_the_types_with_mtp_layers_are_those_of_vllm():
    facts = tomllib.loads((ROOT / "tracekit" / "draft_check" / "vllm.toml").read_text())
    rows, expected = [], []
    for family in facts["mtp"]:
        names = [(kind, "AnyForCausalLM") for kind in family.get("model_types", [])]
        names += [("any", name) for name in family.get("architectures", [])]
        n_layers = 7 if family["layers"] else family["default"]
        for model_type, architecture in names:
            keys = family["layers"]
            rows.append({"model_type": model_type, "architecture": architecture, "keys": keys})
            expected.append([family["drafter"], n_layers, True])
    assert answers("vllm_mtp_types.py", rows) == expected


def test_the_table_of_models_is_that_of_vllm():
    script = runpy.run_path(str(ROOT / "docs" / "vllm_models.py"))
    code = "import importlib.util as u; print(u.find_spec('vllm').submodule_search_locations[0])"
    done = subprocess.run([vllm_python(), "-c", code], capture_output=True, text=True, check=True)
    assert script["TABLE"].read_text() == script["table"](Path(done.stdout.strip()))
