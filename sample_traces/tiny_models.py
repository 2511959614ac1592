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
    model = LlamaForCausalLM(config()).to(torch.bfloat16)
    tokenizer = _byte_level_tokenizer(model.config.vocab_size)
    target, draft = folder / "tiny-llama", folder / "tiny-llama-draft"
    for path in (target, draft):
        model.save_pretrained(path)
        tokenizer.save_pretrained(path)
        add_noise(model)
    return target, draft


def config(hidden_size: int = 256) -> LlamaConfig:
    """The target's shape; the wider, the longer a pass takes."""
    return LlamaConfig(
        vocab_size=2048,
        hidden_size=hidden_size,
        intermediate_size=2 * hidden_size,
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


def add_noise(model: LlamaForCausalLM, noise: float = DRAFT_NOISE) -> None:
    """Change every weight by as much, of its deviation: the more, the fewer drafts are accepted."""
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(noise * weight.std() * torch.randn_like(weight))
