"""Folders that are broken or written to do harm: told in words, never a traceback or a hang."""

import contextlib
import json
import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_folders import EAGLE3, LLAMA, eagle3_shapes, llama_shapes, tokens, write_weights

from tracekit.draft_check import check_draft
from tracekit.draft_check.weights import MAX_HEADER_BYTES, read_weights
from tracekit.errors import ModelError

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"


def torn(data):
    return data[:-1]


def length(n):
    return lambda data: n.to_bytes(8, "little") + data[8:]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (torn, "1 bytes are missing at its end"),
        (lambda data: data[:20], "ends inside its header"),
        (lambda data: b"", "an empty file"),
        (lambda data: bytes(8), "a header of 0 bytes"),
        (lambda data: LFS, "a Git LFS pointer, not the file"),
        (length(2**63), "a header of 9,223,372,036,854,775,808 bytes"),
        (length(MAX_HEADER_BYTES + 1), "a header of 100,000,001 bytes"),
        (length(17), "not JSON"),
        (lambda data: data[:8] + b"[" * (len(data) - 8), "nested too deep"),
    ],
)
def test_damaged_weights_fail_with_what_to_do(folders, damage, told):
    draft = folders.draft(LLAMA, llama_shapes(), tokens(100))
    path = draft / "model.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    if told == "nested too deep":  # only the header counts
        path.write_bytes((10**5).to_bytes(8, "little") + b"[" * 10**5)
    found = folders.verdict("draft_model", draft)
    assert found.outcome == "fails"
    assert told in found.reason
    assert found.remedy
    assert told in folders.check("file", draft).note


@pytest.mark.parametrize(
    "header",
    [
        {"a": None},
        {"a": {"dtype": "BF16", "shape": [1]}},
        {"a": {"dtype": "BF16", "shape": [-1], "data_offsets": [0, 2]}},
        {"a": {"dtype": "BF16", "shape": [2**60], "data_offsets": [0, 2]}},
        {"a": {"dtype": "BF16", "shape": [1.5], "data_offsets": [0, 2]}},
        {"a": {"dtype": "BF16", "shape": [1] * 1000, "data_offsets": [0, 2]}},
        {"a": {"dtype": 7, "shape": [1], "data_offsets": [0, 2]}},
    ],
)
def test_a_header_that_is_none(tmp_path, header):
    text = json.dumps(header).encode()
    (tmp_path / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"00")
    (problem,) = read_weights(tmp_path).problems
    assert problem == "model.safetensors: tensor 'a' has no dtype, shape and place"


def test_headers_are_bounded_over_all_files_together(tmp_path, monkeypatch):
    monkeypatch.setattr("tracekit.draft_check.weights.MAX_HEADER_BYTES", 270)
    for number in range(3):
        write_weights(tmp_path / f"{number}.safetensors", {f"a{number}": [1]})
    found = read_weights(tmp_path)
    assert (len(found.tensors), len(found.problems)) == (2, 1)


def test_missing_files_of_an_index(folders):
    draft = folders.draft(LLAMA, llama_shapes(), tokens(100))
    (draft / "model.safetensors").rename(draft / "model-1.safetensors")
    weight_map = {"a": "model-1.safetensors", "b": "model-2.safetensors", "c": "../x.safetensors"}
    (draft / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    found = folders.verdict("draft_model", draft)
    assert found.outcome == "fails"
    assert found.reason.startswith("2 of 3 files of model.safetensors.index.json are missing")


@pytest.mark.parametrize("has_index", [False, True])
def test_files_that_are_numbered_have_to_be_all_there(folders, has_index):
    draft = folders.draft(LLAMA, llama_shapes(), tokens(100))
    first = draft / "model-00001-of-00002.safetensors"
    (draft / "model.safetensors").rename(first)
    if has_index:
        index = {"weight_map": dict.fromkeys(llama_shapes(), first.name)}
        (draft / "model.safetensors.index.json").write_text(json.dumps(index))
    found = folders.verdict("draft_model", draft)
    told = "1 of 2 files model-...-of-00002.safetensors are missing"
    assert (found.outcome, found.reason, found.remedy) == ("fails", told, "get them")
    write_weights(draft / "model-00002-of-00002.safetensors", {"more": [1]})
    assert folders.verdict("draft_model", draft).outcome == "works"


def test_a_count_of_files_that_is_none(folders):
    draft = folders.draft(LLAMA, llama_shapes(), tokens(100))
    write_weights(draft / f"model-1-of-{'9' * 40}.safetensors", {"more": [1]})
    write_weights(draft / "model-00001-of-00000.safetensors", {"more": [1]})
    assert folders.verdict("draft_model", draft).outcome == "works"


@pytest.mark.parametrize(
    "damage", [torn, lambda data: data[:20], lambda data: b"", lambda data: LFS, None]
)
def test_a_damaged_target_has_no_method_that_works(folders, damage):
    draft = folders.draft(LLAMA, llama_shapes(), tokens(100))
    path = folders.target / "model.safetensors"
    if damage:
        path.write_bytes(damage(path.read_bytes()))
    else:
        path.rename(folders.target / "model-00001-of-00002.safetensors")
    verdicts = check_draft(folders.target, draft).verdicts
    assert {row.outcome for row in verdicts} == {"fails"}
    told = "target: model.safetensors: " if damage else "target: 1 of 2 files model-...-of-00002"
    assert all(row.reason.startswith(told) for row in verdicts)


def test_a_target_without_weights_is_a_doubt(folders):
    (folders.target / "model.safetensors").unlink()
    found = folders.verdict("ngram", None)
    assert found.outcome == "likely"
    assert found.reason.startswith("target: no safetensors header to check its shapes")


def test_a_target_with_a_damaged_tokenizer_is_a_doubt(folders):
    (folders.target / "tokenizer.json").write_text("{")
    found = folders.verdict("ngram", None)
    assert found.outcome == "likely"
    assert found.reason.startswith("target: tokenizer.json: not JSON")


def test_no_file_outside_of_the_folder_is_read(folders, tmp_path):
    secret = tmp_path / "secret.safetensors"
    write_weights(secret, {"secret": [1]})
    draft = folders.draft(LLAMA)
    weight_map = {"a": "../secret.safetensors", "b": str(secret), "c": 7}
    (draft / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    assert read_weights(draft).tensors == {}


@pytest.mark.parametrize(
    "name", ["tokenizer.json", "tokenizer_config.json", "generation_config.json"]
)
@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{", b"\xff", b"[" * 10**5, LFS, b'{"a": ' + b"1" * 5000]
)
def test_other_damaged_files_are_told_and_the_rest_is_compared(folders, name, data):
    draft = folders.draft(LLAMA, llama_shapes(), tokens(100))
    (draft / name).write_bytes(data)
    assert name in folders.check("file", draft).note
    assert folders.check("vocabulary", draft).state == "same"


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 10**5, LFS])
def test_a_config_that_is_none_is_refused(folders, data):
    draft = folders.draft(LLAMA)
    (draft / "config.json").write_bytes(data)
    with pytest.raises(ModelError, match=r"small/config\.json: .+; .+"):
        check_draft(folders.target, draft)


NO_FILES = [
    (os.mkfifo, "a pipe or device, not a file"),
    (os.mkdir, "a folder, not a file"),
    (lambda path: path.symlink_to(path), "a link that leads back to itself"),
    (lambda path: path.symlink_to("nowhere"), "a link to a file that is not there"),
    (lambda path: path.symlink_to("/dev/zero"), "a pipe or device, not a file"),
]


@pytest.mark.parametrize(("make", "told"), NO_FILES)
def test_what_is_no_file_is_neither_waited_for_nor_overlooked(folders, make, told):
    draft = folders.draft(LLAMA, llama_shapes(), tokens(100))
    names = ("model.safetensors", "tokenizer.json", "tokenizer_config.json", "config.json")
    for name in names:
        (draft / name).unlink(missing_ok=True)
        make(draft / name)
        if name != "config.json":
            notes = [row.note for row in check_draft(folders.target, draft).checks]
            assert any(f"{name}: {told}; " in note for note in notes)
    with pytest.raises(ModelError, match=rf"config\.json: {told}; "):
        check_draft(folders.target, draft)


def test_a_number_of_too_many_digits_is_told_in_words_of_a_model(folders):
    draft = folders.draft(LLAMA)
    (draft / "config.json").write_text('{"a": ' + "1" * 5000 + "}")
    with pytest.raises(ModelError, match="a number of over 4,300 digits; download it again"):
        check_draft(folders.target, draft)


def test_a_file_over_the_bound_is_not_read(folders):
    draft = folders.draft(LLAMA)
    with (draft / "tokenizer.json").open("wb") as file:
        file.truncate(1 << 40)
    assert "over 128 MiB" in folders.check("file", draft).note


def test_tiktoken_lines_that_are_none(folders):
    for line in (b"one", b"! 1", b"YQ== x", b"YQ== " + b"1" * 5000, b"\xff\xff 1"):
        draft = folders.draft(LLAMA)
        (draft / "tiktoken.model").write_bytes(b"YQ== 0\n" + line)
        assert "tiktoken.model: line 2: not a token" in folders.check("file", draft).note


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)
KEYS = [
    *LLAMA, "text_config", "transformer_layer_config", "thinker_config", "rope_scaling",
    "rope_parameters", "quantization_config", "eagle_config", "eagle_aux_hidden_state_layer_ids",
    "draft_vocab_size", "target_hidden_size", "num_nextn_predict_layers", "speculators_model_type",
    "num_aux_hidden_states", "dtype",
]  # fmt: skip
ANY = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)


@ANY
@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6), st.booleans())
def test_any_value_in_a_config_gives_verdicts(folders, values, is_target):
    base = LLAMA if is_target else EAGLE3
    odd = folders.draft(base | values, eagle3_shapes(), folder="odd")
    pair = (odd, folders.target) if is_target else (folders.target, odd)
    found = check_draft(*pair)
    assert len(found.verdicts) == 6
    assert all(isinstance(check.note, str) for check in found.checks)


@ANY
@given(
    st.sampled_from(["tokenizer.json", "tokenizer_config.json", "generation_config.json",
                     "model.safetensors.index.json", "vocab.json"]),
    st.dictionaries(
        st.sampled_from(["model", "added_tokens", "weight_map", "eos_token_id", "eos_token",
                         "added_tokens_decoder", "vocab"]),
        VALUES | st.fixed_dictionaries({"vocab": VALUES, "merges": VALUES}),
        max_size=4,
    ),
)  # fmt: skip
def test_any_value_in_other_files_gives_verdicts(folders, name, values):
    draft = folders.draft(LLAMA, llama_shapes(), folder="odd")
    for path in draft.glob("*.json"):
        if path.name != "config.json":
            path.unlink()
    (draft / name).write_text(json.dumps(values))
    assert len(check_draft(folders.target, draft).verdicts) == 6


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_give_verdicts_or_one_line(folders, seed):
    draft = folders.draft(EAGLE3, eagle3_shapes(), tokens(100))
    chance = random.Random(seed)
    for path in (draft / "config.json", draft / "model.safetensors", draft / "tokenizer.json"):
        data = bytearray(path.read_bytes()[:3000])
        for _ in range(chance.randrange(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data)
    with contextlib.suppress(ModelError):  # of config.json; nothing else may come
        check_draft(folders.target, draft)
