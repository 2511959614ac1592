"""Prompts of the built-in load: made up from a seed, or read from a file of the user's.

Every window sends exactly the same prompts, the warm-up too: at temperature 0 the windows then do
the same work, and with speculation the same drafts are accepted. What a prefix cache of the engine
holds of them is there since the warm-up, so that each window finds the same blocks: its prefills
are short, and decode is what it measures.

Random tokens say little about drafts: how many are accepted depends on the text. To measure
speculation on your traffic, give a file.
"""

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Literal, Protocol

from tracekit.errors import CaptureError

Api = Literal["completions", "chat"]
"""OpenAI API that a load speaks: /v1/completions or /v1/chat/completions."""

FIRST_TOKEN_ID = 1000
"""Special tokens are at the ends of a vocabulary; Mistral's tekken has 1,000 at its start."""

LAST_TOKEN_ID = 1999  # vocabularies are larger; one that is not answers 400

_COMMON = """
able back call dark each fact give hand idea join keep land main name once part quite road side take
unit very wall year army bird city door east farm gold hill inch jump king lake moon news ocean page
rain salt tree uncle view wind young apple bread cloud dance early field glass house index judge
large month night order paper queen river stone table
"""
WORDS = tuple(_COMMON.split())
"""Words that are about one token each; chat takes no token ids."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What one request asks; `number` is its place in the file or series, from 0.

    `body` is its part of the request: `prompt` or `messages`. `max_tokens` is how many a file's
    row says to generate, None where that is up to the load.
    """

    number: int
    body: Mapping[str, object]
    max_tokens: int | None = None


class Prompts(Protocol):
    """Prompts of a window."""

    @property
    def api(self) -> Api:
        """API that the prompts are made for."""

    def take(self, n: int) -> list[Prompt]:
        """The prompts of a window of `n` requests, the same at each call."""

    def describe(self) -> dict[str, object]:
        """What they are, for run.json."""


@dataclass(frozen=True, slots=True)
class SyntheticPrompts:
    """Random prompts of `n_tokens` each: token ids for completions, words for chat.

    Token ids are exact; n words make about n tokens, to which the chat template adds its own.
    What the server counted is in the load's rows (`n_prompt_tokens`).
    """

    n_tokens: int
    seed: int
    api: Api = "completions"

    def take(self, n: int) -> list[Prompt]:
        """Prompts that follow from the seed and their number alone."""
        return [Prompt(number, self._body(number)) for number in range(n)]

    def describe(self) -> dict[str, object]:
        """Their length and seed."""
        return {"input_len": self.n_tokens, "seed": self.seed}

    def _body(self, number: int) -> dict[str, object]:
        seeded = random.Random(f"{self.seed} {number}")
        if self.api == "chat":
            return {"messages": _of_user(" ".join(seeded.choices(WORDS, k=self.n_tokens)))}
        ids = range(FIRST_TOKEN_ID, LAST_TOKEN_ID + 1)
        return {"prompt": seeded.choices(ids, k=self.n_tokens)}


@dataclass(frozen=True, slots=True)
class FilePrompts:
    """Prompts of a file, in its order; begun again where a window has more requests."""

    prompts: tuple[Prompt, ...]
    api: Api
    file: str | None = None

    def take(self, n: int) -> list[Prompt]:
        """The first `n`."""
        return list(islice(cycle(self.prompts), n))

    def describe(self) -> dict[str, object]:
        """The file, and how many there are."""
        return {"file": self.file, "n_prompts": len(self.prompts)}


def read_prompts(path: Path, api: Api) -> FilePrompts:
    """Prompts of a UTF-8 file: text with one per line, or JSONL where its first line is an object.

    A JSONL row has `prompt` (text, or token ids for completions) or, for chat, `messages`; and
    may have `max_tokens`. Other members are not read. Empty lines are no prompts.

    Raises:
        CaptureError: nothing to read, or a row that is no prompt for this API.
    """
    lines = list(_lines(path))
    if not lines:
        raise CaptureError(f"{path}: no prompt in it; write one per line")
    is_jsonl = isinstance(_json(lines[0][1]), dict)
    prompts = (
        _prompt_of_row(number, text, api, f"{path}: line {line}")
        if is_jsonl
        else Prompt(number, _body_of_text(text, api))
        for number, (line, text) in enumerate(lines)
    )
    return FilePrompts(tuple(prompts), api, str(path))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    if path.exists() and not path.is_file():
        raise CaptureError(f"{path}: is no file; give one with a prompt per line")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CaptureError(f"{path}: {error.strerror}; give a file of prompts") from error
    except UnicodeDecodeError as error:
        raise CaptureError(f"{path}: byte {error.start}: is not UTF-8; convert it") from error
    for number, line in enumerate(text.split("\n"), start=1):  # U+2028 is text, not a line's end
        if line.strip():
            yield number, line.rstrip("\r")


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _body_of_text(text: str, api: Api) -> dict[str, object]:
    return {"messages": _of_user(text)} if api == "chat" else {"prompt": text}


def _of_user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def _prompt_of_row(number: int, text: str, api: Api, place: str) -> Prompt:
    row = _json(text)
    if not isinstance(row, dict):
        raise CaptureError(f"{place}: is no JSON object, as the first line is; mend the file")
    return Prompt(number, _asked(row, api, place), _limit(row, place))


def _asked(row: Mapping[str, object], api: Api, place: str) -> dict[str, object]:
    prompt, messages = row.get("prompt"), row.get("messages")
    if api == "chat" and isinstance(messages, list):
        return {"messages": messages}
    if isinstance(prompt, str):
        return _body_of_text(prompt, api)
    if api == "completions" and isinstance(prompt, list):
        return {"prompt": prompt}
    wanted = "`messages` or a text `prompt`" if api == "chat" else "`prompt`: text or token ids"
    raise CaptureError(f"{place}: no prompt for the {api} API; it needs {wanted}")


def _limit(row: Mapping[str, object], place: str) -> int | None:
    limit = row.get("max_tokens")
    if limit is None or (isinstance(limit, int) and limit >= 1):
        return limit
    raise CaptureError(f"{place}: max_tokens {limit!r} is no number of tokens; give 1 or more")
