"""Vocabularies that are damaged, and what is said first of a damaged model."""

import json

import pytest
from model_folders import LLAMA, llama_shapes, tokens, write_tokenizer


@pytest.mark.parametrize(
    ("vocab", "told"),
    [
        ({"a": -1, "b": 1e300, "c": "x", "d": None}, "4 of 4"),
        ({"a": 0, "b": 2**31}, "1 of 2"),
        ({"a": 0, "b": True}, "1 of 2"),
        ([["a", -1.0], ["a"], 7], "1 of 3"),
    ],
)
def test_tokens_without_an_id_are_damage(folders, vocab, told):
    draft = folders.draft(LLAMA, llama_shapes())
    (draft / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocab}}))
    expected = f"tokenizer.json: damaged: {told} tokens of its vocabulary have no id"
    assert expected in folders.check("file", draft).note


@pytest.mark.parametrize("text", ['{"model": {"vocab": {"a": -1}}}', "{"])
def test_a_damaged_vocabulary_is_no_missing_one(folders, text):
    draft = folders.draft(LLAMA, llama_shapes())
    (draft / "tokenizer.json").write_text(text)
    found = folders.verdict("draft_model", draft)
    told = "tokens were not compared: tokenizer.json of the draft is damaged"
    assert (found.outcome, found.reason, found.remedy) == ("likely", told, "download it again")
    write_tokenizer(draft, tokens(100))
    assert folders.verdict("draft_model", draft).outcome == "works"


@pytest.mark.parametrize("method", ["eagle", "eagle3"])
def test_a_truncated_whole_model_is_no_head_however_often_it_is_downloaded(folders, method):
    draft = folders.draft(LLAMA, llama_shapes(), tokens(100))
    path = draft / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    found = folders.verdict(method, draft)
    assert found.reason.endswith("head: its weights have no fc")
    assert found.remedy == "use method draft_model"
    path.rename(draft / "model-00001-of-00002.safetensors")
    assert "are missing" in folders.verdict(method, draft).reason  # fc may be in the other
