"""The tokenizer of a model folder: which id each token has, and what surrounds the vocabulary."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.draft_check.files import is_there, json_object, whole_file
from tracekit.draft_check.tiktoken import tiktoken_ids
from tracekit.errors import ModelError

ROLES = ("bos_token", "eos_token", "pad_token", "unk_token")
THINKING = ("<think>", "</think>", "◁think▷", "◁/think▷", "<|channel|>")
"""Tokens that begin and end reasoning, in the models that have them."""

_UNREAD = ("tokenizer.model", "tekken.json", "spiece.model", "sentencepiece.bpe.model")
"""Vocabularies in formats that are not read: they are compared byte by byte."""

_LARGEST_ID = 2**31


@dataclass(slots=True)
class Tokenizer:
    """What the tokenizer files of a folder tell."""

    source: str = ""
    """File with the vocabulary; empty where there is none."""

    ids: dict[str, int] = field(default_factory=dict)
    """Id of each token, added ones too; empty where the file is not read."""

    digest: str = ""
    """Of the file with the vocabulary, where it is not read."""

    roles: dict[str, str] = field(default_factory=dict)
    """Token of each role (`bos_token`, ...)."""

    parts: dict[str, str] = field(default_factory=dict)
    """Canonical text of `model type`, `merges`, `normalizer`, `pre-tokenizer`."""

    n_merges: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def largest_id(self) -> int | None:
        """Largest id that a token has; None where no vocabulary was read."""
        return max(self.ids.values(), default=None)


def read_tokenizer(folder: Path) -> Tokenizer:
    """What the tokenizer files of a folder tell; damage is in `problems`, never raised."""
    found = Tokenizer()
    there = sorted(folder.glob("*"))  # with links to nothing, which a plain name does not find
    for name, read in _READERS.items():
        path = next((path for path in there if path.match(name)), None)
        if path is not None:
            found.source = path.name
            _try(found, lambda path=path, read=read: read(found, path))  # type: ignore[misc]
            break
    _try(found, lambda: _read_added(found, folder))
    return found


def _try(found: Tokenizer, read: Callable[[], None]) -> None:
    try:
        read()
    except ModelError as error:
        found.problems.append(str(error))


def _read_json(found: Tokenizer, path: Path) -> None:
    """Source: tokenizer.json as the tokenizers package (0.22) writes it."""
    whole = json_object(path)
    model = whole.get("model")
    model = model if isinstance(model, dict) else {}
    pairs = _vocabulary(path, model.get("vocab"))
    found.ids.update(_ids(pairs))
    if lacking := len(pairs) - sum(1 for _ in _ids(pairs)):
        what = f"damaged: {lacking:,} of {len(pairs):,} tokens of its vocabulary have no id"
        found.problems.append(f"{path.name}: {what}; download it again")
    found.ids.update(_ids(_entries(whole.get("added_tokens"))))
    merges = model.get("merges")
    merges = merges if isinstance(merges, list) else []
    found.n_merges = len(merges)
    found.parts = {
        "model type": str(model.get("type")),
        "merges": _digest(json.dumps([_merge(merge) for merge in merges]).encode()),
        "normalizer": _canonical(whole.get("normalizer")),
        "pre-tokenizer": _canonical(whole.get("pre_tokenizer")),
    }


def _vocabulary(path: Path, vocab: object) -> list[tuple[object, object]]:
    if isinstance(vocab, list):  # Unigram: pairs of token and score
        return [(_first(pair), i) for i, pair in enumerate(vocab)]
    if not isinstance(vocab, dict):
        raise ModelError(f"{path.name}: no vocabulary in it; download it again")
    return list(vocab.items())


def _read_tiktoken(found: Tokenizer, path: Path) -> None:
    found.ids.update(tiktoken_ids(path))


def _read_vocab(found: Tokenizer, path: Path) -> None:
    found.ids.update(_ids(json_object(path).items()))
    added = path.with_name("added_tokens.json")
    if is_there(added):
        found.ids.update(_ids(json_object(added).items()))
    merges = path.with_name("merges.txt")
    if is_there(merges):
        lines = whole_file(merges).decode(errors="replace").splitlines()
        kept = [line for line in lines if line and not line.startswith("#version")]
        found.n_merges = len(kept)
        found.parts = {"merges": _digest(json.dumps(kept).encode())}


def _read_digest(found: Tokenizer, path: Path) -> None:
    found.digest = _digest(whole_file(path))


_READERS: Mapping[str, Callable[[Tokenizer, Path], None]] = {
    "tokenizer.json": _read_json,
    "*tiktoken*": _read_tiktoken,
    "vocab.json": _read_vocab,
    **dict.fromkeys(_UNREAD, _read_digest),
}
"""By name of file, the best first."""


def _read_added(found: Tokenizer, folder: Path) -> None:
    """Special tokens and their roles, of the files that tell them; the first file wins."""
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        if not is_there(folder / name):
            continue
        told = json_object(folder / name)
        for role in ROLES:
            if token := _token(told.get(role)):
                found.roles.setdefault(role, token)
        decoder = told.get("added_tokens_decoder")
        if found.ids and isinstance(decoder, dict):
            for number, entry in decoder.items():
                if (token := _token(entry)) and number.isdecimal() and len(number) < 10:
                    found.ids.setdefault(token, int(number))


def _entries(added: object) -> Iterator[tuple[object, object]]:
    for entry in added if isinstance(added, list) else ():
        if isinstance(entry, dict):
            yield entry.get("content"), entry.get("id")


def _ids(pairs: Iterable[tuple[object, object]]) -> Iterator[tuple[str, int]]:
    """Pairs of a token and its id; what is none is left out."""
    for token, number in pairs:
        if isinstance(token, str) and type(number) is int and 0 <= number < _LARGEST_ID:
            yield token, number


def _first(pair: object) -> object:
    return pair[0] if isinstance(pair, list) and pair else None


def _token(found: object) -> str:
    """A token given as text, or as an object with its content."""
    if isinstance(found, dict):
        found = found.get("content")
    return found if isinstance(found, str) else ""


def _merge(merge: object) -> object:
    """A merge as one text, which older files have; newer ones have a pair."""
    if isinstance(merge, list) and len(merge) == 2:
        return f"{merge[0]} {merge[1]}"
    return merge


def _canonical(part: object) -> str:
    return json.dumps(part, sort_keys=True)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
