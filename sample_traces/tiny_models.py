"""Tiny models with random weights for recordings and tests: no model hub is asked.

Needs torch, transformers and tokenizers, which a vLLM environment has.
"""

from pathlib import Path
from pydoc_data.topics import topics  # English text that every Python has

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

N_LAYERS = 4
DRAFT_NOISE = 0.08  # of each weight's deviation: some of the drafted tokens are accepted, not all


def make_models(folder: Path) -> tuple[Path, Path]:
    """Makes a Llama with random weights and a noisy copy of it, which drafts for it."""
    torch.manual_seed(0)
    model = LlamaForCausalLM(_config()).to(torch.bfloat16)
    tokenizer = _byte_level_tokenizer(model.config.vocab_size)
    target, draft = folder / "tiny-llama", folder / "tiny-llama-draft"
    for path in (target, draft):
        model.save_pretrained(path)
        tokenizer.save_pretrained(path)
        _add_noise(model)
    return target, draft


def _config() -> LlamaConfig:
    return LlamaConfig(
        vocab_size=2048,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=N_LAYERS,
        num_attention_heads=8,
        num_key_value_heads=4,
        max_position_embeddings=1024,
        bos_token_id=0,
        eos_token_id=1,
    )


def _byte_level_tokenizer(vocab_size: int) -> PreTrainedTokenizerFast:
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(topics.values(), trainer)
    return PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token="<s>", eos_token="</s>")


def _add_noise(model: LlamaForCausalLM) -> None:
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(DRAFT_NOISE * weight.std() * torch.randn_like(weight))
