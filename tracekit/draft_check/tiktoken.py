"""Vocabularies of tiktoken: a line for each token, its bytes in base64 and its rank."""

import base64
import binascii
from pathlib import Path

from tracekit.draft_check.files import whole_file
from tracekit.errors import ModelError

_VISIBLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))


def _alphabet() -> tuple[str, ...]:
    """The character for each byte in a byte-level tokenizer.json.

    Source: bytes_to_unicode of GPT-2, also in transformers/convert_slow_tokenizer.py (4.57).
    """
    hidden = iter(range(0x100, 0x200))
    return tuple(chr(b) if b in _VISIBLE else chr(next(hidden)) for b in range(0x100))


ALPHABET = _alphabet()


def tiktoken_ids(path: Path) -> dict[str, int]:
    """Id of each token, written as a byte-level tokenizer.json would. Raises ModelError."""
    ids: dict[str, int] = {}
    for number, line in enumerate(whole_file(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            text, rank = line.split()
            token = base64.b64decode(text, validate=True)
            ids["".join(map(ALPHABET.__getitem__, token))] = int(rank)
        except (ValueError, binascii.Error) as error:
            what = "not a token in base64 and its rank; download it again"
            raise ModelError(f"{path.name}: line {number}: {what}") from error
    return ids
