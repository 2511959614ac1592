"""What a server's command line says of it: `vllm serve ...` and `sglang.launch_server ...`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import PurePath
from typing import Any

from tracekit.readers.values import count, text


@dataclass(frozen=True, slots=True)
class Setup:
    """How a run was served, as far as one source tells; None where it does not."""

    engine: str | None = None
    engine_version: str | None = None
    model: str | None = None
    tensor_parallel: int | None = None
    speculative_method: str | None = None
    num_speculative_tokens: int | None = None

    def or_else(self, other: "Setup") -> "Setup":
        """This setup, with what it does not tell from another."""
        names = (field.name for field in fields(self))
        pairs = ((name, getattr(self, name), getattr(other, name)) for name in names)
        return Setup(**{name: mine if mine is not None else theirs for name, mine, theirs in pairs})


def setup_of_command(command: Sequence[str]) -> Setup:
    """Engine, model, parallelism and drafting of a command; nothing where it starts no server."""
    for place, word in enumerate(command):
        engine = _engine(word)
        if engine is not None:
            return _READERS[engine](command[place + 1 :])
    return Setup()


def options_of(arguments: Sequence[str]) -> dict[str, str]:
    """`--name value` and `--name=value`; `_` and `-` are the same in names, the last one wins."""
    options = {}
    for place, argument in enumerate(arguments):
        if argument.startswith("-"):
            name, equals, value = argument.lstrip("-").partition("=")
            following = arguments[place + 1] if place + 1 < len(arguments) else ""
            options[name.replace("_", "-")] = value if equals else following
    return options


def drafted(algorithm: str | None, num_steps: object, num_draft_tokens: object) -> Setup:
    """SGLang's drafting in vLLM's terms: its draft tokens count the root, which is no draft.

    Source: SGLang 0.5.23, `speculative_num_draft_tokens` = steps + 1 where top-k is 1.
    """
    tokens = count(num_draft_tokens)
    return Setup(
        speculative_method=algorithm and algorithm.lower(),
        num_speculative_tokens=tokens - 1 if tokens else count(num_steps),
    )


def _engine(word: str) -> str | None:
    name = PurePath(word).name.partition(".")[0]
    return name if name in _READERS else None


def _vllm(arguments: Sequence[str]) -> Setup:
    options = options_of(arguments)
    drafting = _json_object(options.get("speculative-config", options.get("sc")))
    for key in ("method", "num_speculative_tokens"):
        dotted = f"speculative-config.{key}".replace("_", "-")
        drafting.setdefault(key, options.get(dotted))
    return Setup(
        engine="vllm",
        model=text(options.get("model")) or _first_after(arguments, "serve"),
        tensor_parallel=count(options.get("tensor-parallel-size", options.get("tp"))),
        speculative_method=text(drafting["method"]),
        num_speculative_tokens=count(drafting["num_speculative_tokens"]),
    )


def _sglang(arguments: Sequence[str]) -> Setup:
    options = options_of(arguments)
    width = options.get("tp-size", options.get("tp", options.get("tensor-parallel-size")))
    own = Setup(
        engine="sglang",
        model=text(options.get("model-path", options.get("model"))),
        tensor_parallel=count(width),
    )
    return own.or_else(
        drafted(
            options.get("speculative-algorithm"),
            options.get("speculative-num-steps"),
            options.get("speculative-num-draft-tokens"),
        )
    )


_READERS = {"vllm": _vllm, "sglang": _sglang}


def _first_after(arguments: Sequence[str], word: str) -> str | None:
    """The argument that follows `word`, unless it is an option."""
    following = dict(zip(arguments, arguments[1:], strict=False)).get(word, "-")
    return None if following.startswith("-") else following


def _json_object(value: str | None) -> dict[str, Any]:
    try:
        loaded = json.loads(value or "{}")
    except (ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, dict) else {}
