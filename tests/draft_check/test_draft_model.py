"""Method draft_model: a small language model beside a large one."""

import base64
import json

import pytest
from model_folders import KIMI, LLAMA, llama_shapes, tokens, write_model, write_tokenizer


def outcome(verdict):
    return verdict.outcome, verdict.reason


def test_a_smaller_model_of_the_family_works(folders):
    config = LLAMA | {"num_hidden_layers": 2}
    draft = folders.draft(config, llama_shapes(config), tokens(100))
    assert outcome(folders.verdict("draft_model", draft)) == ("works", "")


def test_another_vocabulary_is_refused_with_the_way_out(folders):
    """The classic: Kimi-K2's 163,840 entries and a draft of the DeepSeek kind with 129,280."""
    target = folders.draft(KIMI, folder="kimi")
    config = LLAMA | {"vocab_size": 129280, "max_position_embeddings": 131072}
    draft = folders.draft(config, llama_shapes(config))
    found = folders.verdict("draft_model", draft, target)
    assert outcome(found) == (
        "fails",
        "vocabulary of 129,280 entries against 163,840: vLLM 0.32.0 refuses",
    )
    assert '"use_heterogeneous_vocab": true' in found.remedy
    assert folders.check("vocabulary", draft, target).state == "differs"


def test_the_same_tokens_with_another_padding_can_be_repaired(folders):
    config = LLAMA | {"vocab_size": 128}
    draft = folders.draft(config, llama_shapes(config), tokens(100))
    found = folders.verdict("draft_model", draft)
    assert (found.outcome, found.remedy[:26]) == ("fails", "same tokens, other padding")
    assert folders.check("padding", draft).draft == "28"


def test_the_same_size_with_other_ids_starts_and_is_never_accepted(folders):
    names = tokens(98) + ["t99", "t98"]
    draft = folders.draft(LLAMA, llama_shapes(), names)
    found = folders.verdict("draft_model", draft)
    assert found.outcome == "likely"
    assert found.reason.startswith("98 of 100 tokens have the same id: 2 other id")
    assert folders.check("tokens", draft).note.endswith("'t98' 98 and 99; 't99' 99 and 98")


def test_a_vocabulary_that_nobody_can_read_is_a_doubt(folders):
    draft = folders.draft(LLAMA, llama_shapes())
    found = folders.verdict("draft_model", draft)
    assert outcome(found) == (
        "likely",
        "tokens were not compared: no vocabulary to read in the draft",
    )
    assert folders.check("tokens", draft).state == "unknown"


def test_a_sentencepiece_file_is_compared_byte_by_byte(folders):
    target = folders.draft(LLAMA, llama_shapes(), folder="other")
    draft = folders.draft(LLAMA, llama_shapes())
    for folder in (target, draft):
        (folder / "tokenizer.model").write_bytes(b"\x0a\x07")
    assert folders.verdict("draft_model", draft, target).outcome == "works"
    (draft / "tokenizer.model").write_bytes(b"\x0a\x08")
    assert folders.verdict("draft_model", draft, target).outcome == "likely"


def test_tiktoken_and_tokenizer_json_are_the_same_tokens(folders):
    """Kimi has tiktoken.model, and its special tokens in tokenizer_config.json."""
    words = [b"a", b" b", b"\n", "é".encode()]
    lines = [f"{base64.b64encode(word).decode()} {i}\n" for i, word in enumerate(words)]
    target = folders.draft(LLAMA, llama_shapes(), folder="other")
    (target / "tiktoken.model").write_text("".join(lines))
    added = {"added_tokens_decoder": {"4": {"content": "[EOS]"}}, "eos_token": "[EOS]"}
    (target / "tokenizer_config.json").write_text(json.dumps(added))
    draft = folders.draft(LLAMA, llama_shapes(), ["a", "Ġb", "Ċ", "Ã©"])
    write_tokenizer(draft, ["a", "Ġb", "Ċ", "Ã©"], added_tokens=[{"id": 4, "content": "[EOS]"}])
    assert folders.check("tokens", draft, target).note == "all 5 tokens have the same id"
    assert folders.check("eos token", draft, target).target == "[EOS] 4"


def test_a_vocab_json_with_merges_is_read(folders):
    draft = folders.draft(LLAMA, llama_shapes())
    (draft / "vocab.json").write_text(json.dumps({f"t{i}": i for i in range(99)}))
    (draft / "added_tokens.json").write_text(json.dumps({"t99": 99}))
    (draft / "merges.txt").write_text("#version: 0.2\na b\n")
    assert folders.check("tokens", draft).state == "same"
    assert folders.check("merges", draft).state == "same"


def test_what_a_tokenizer_makes_tokens_by_is_compared(folders):
    draft = folders.draft(LLAMA, llama_shapes())
    write_tokenizer(draft, tokens(100), normalizer={"type": "NFC"}, pre_tokenizer=None)
    assert folders.check("normalizer", draft).state == "differs"
    assert folders.check("pre-tokenizer", draft).state == "differs"


def test_thinking_tokens_are_told(folders):
    draft = folders.draft(LLAMA, llama_shapes(), [*tokens(98), "<think>", "</think>"])
    assert folders.check("<think>", draft).draft == "98"


def test_weights_that_contradict_the_config_are_told(folders):
    draft = folders.draft(LLAMA, llama_shapes(LLAMA | {"vocab_size": 96}), tokens(100))
    found = folders.verdict("draft_model", draft)
    assert found.outcome == "fails"
    assert "its embedding has 96 rows, its vocab_size is 100" in found.reason
    assert folders.check("embedding", draft).state == "wrong"


def test_tokens_outside_of_the_vocabulary_are_wrong(folders):
    draft = folders.draft(LLAMA, llama_shapes(), tokens(101))
    assert folders.check("largest token", draft).state == "wrong"


def test_a_tied_lm_head_is_no_missing_one(folders):
    shapes = llama_shapes(has_head=False)
    tied = folders.draft(LLAMA | {"tie_word_embeddings": True}, shapes, tokens(100))
    assert folders.verdict("draft_model", tied).outcome == "works"
    untied = folders.draft(LLAMA, shapes, tokens(100))
    expected = "its weights have no lm_head: drafts are random"
    assert outcome(folders.verdict("draft_model", untied)) == ("likely", expected)


def test_fewer_positions_than_the_target_serves(folders):
    config = LLAMA | {"max_position_embeddings": 512}
    draft = folders.draft(config, llama_shapes(), tokens(100))
    found = folders.verdict("draft_model", draft)
    assert outcome(found) == ("likely", "knows 512 positions; the target serves 1,024")
    assert found.remedy == "--max-model-len 512"


@pytest.mark.parametrize(
    ("rope", "n"),
    [
        ({"rope_type": "linear", "factor": 2.0}, 1024),
        ({"type": "dynamic", "factor": 2}, 1024),
        ({"rope_type": "yarn", "factor": 64.0}, 512),
        ({"rope_type": "llama3", "factor": 8.0}, 512),
        ({"factor": float("inf")}, 512),
        ({"factor": "8"}, 512),
    ],
)
def test_positions_are_scaled_as_vllm_does(folders, rope, n):
    draft = folders.draft(LLAMA | {"max_position_embeddings": 512, "rope_scaling": rope})
    assert folders.check("positions", draft).draft == f"{n:,}"


def test_heads_that_rule_out_a_tensor_parallel_size(folders):
    config = LLAMA | {"num_attention_heads": 14}
    draft = folders.draft(config, llama_shapes(config), tokens(100))
    found = folders.verdict("draft_model", draft)
    assert outcome(found) == ("likely", "its 14 attention heads rule out -tp 4 or 8")


def test_a_path_that_vllm_takes_for_another_method(folders):
    draft = folders.draft(LLAMA, llama_shapes(), tokens(100), folder="eagle-tests/small")
    found = folders.verdict("draft_model", draft)
    assert found.outcome == "fails"
    assert "takes it for eagle" in found.reason


@pytest.mark.parametrize(
    "more",
    [{"model_type": "deepseek_v3"}, {"model_type": "qwen3_next"},
     {"architectures": ["Glm4MoeForCausalLM"]}],
)  # fmt: skip
def test_a_model_type_that_vllm_takes_for_mtp(folders, more):
    draft = folders.draft(LLAMA | more, llama_shapes(), tokens(100))
    found = folders.verdict("draft_model", draft)
    assert found.outcome == "fails"
    assert "as a draft for its MTP layers" in found.reason


def test_an_architecture_that_vllm_does_not_list(folders):
    draft = folders.draft(
        LLAMA | {"architectures": ["NewForCausalLM"]}, llama_shapes(), tokens(100)
    )
    found = folders.verdict("draft_model", draft)
    assert outcome(found) == ("likely", "NewForCausalLM is not among the models of vLLM 0.32.0")


def test_the_language_model_of_one_that_sees(folders):
    nested = {"architectures": ["KimiK25ForConditionalGeneration"], "model_type": "kimi_k25"}
    target = folders.draft(nested | {"text_config": LLAMA}, folder="vision")
    draft = folders.draft(LLAMA, llama_shapes(), tokens(100))
    assert folders.check("vocabulary", draft, target).state == "same"
    assert folders.check("architecture", draft, target).target == nested["architectures"][0]


def test_sizes_are_told_beside_each_other(folders):
    shapes = {name: [n // 2 for n in shape] for name, shape in llama_shapes().items()}
    draft = folders.draft(LLAMA, shapes)
    found = folders.check("weights", draft)
    assert (found.target, found.draft) == ("603 KiB", "151 KiB")
    assert found.note == "the draft has 25.1 % of the target's bytes"


def test_packed_weights_have_no_count_of_parameters(tmp_path, folders):
    packed = write_model(tmp_path / "int4", LLAMA, {"a.qweight": [8, 8]}, dtype="I32")
    assert folders.check("weights", packed).draft == "256 B"
    found = folders.check("parameters", packed)
    assert (found.target, found.draft) == ("0.309 million", "")
