"""Keeps secrets out of files: what is written of arguments, environment, URLs and logs passes here.

    known = known_secrets(command, os.environ)
    redacted_arguments(command, known)        a command line, word by word
    redacted_environment(os.environ, known)   the variables that matter to a run, no others
    redacted_text(line, known)                a line of a log, an answer's or an error's text
    redacted_url(url, known)
    redacted_value(config, known)             what json.loads gave, for json.dumps
    with errors_redacted(known): ...          what a CaptureError says

A secret is told by its name (`--api-key X`, `HF_TOKEN=X`, `"password": "X"`, `Authorization: X`,
`?key=X`), by its place (`https://user:X@host`), by its looks (`hf_...`, `sk-...`, a JWT), or
because it is `known`: seen under such a name before, whatever text it is in. `***` replaces it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

from tracekit.collectors.secrets.names import is_secret_name, is_secret_option
from tracekit.collectors.secrets.text import (
    NUMBER,
    SWITCH,
    Mask,
    is_secret_value,
    mask_login,
    masked_text,
)
from tracekit.errors import CaptureError

MASK = "***"

KEPT = re.compile(
    r"(?:AITER|AMD|C10|CUBLAS|CUDA|CUDNN|CUTE|DEEPEP|DG|FI|FLASHINFER|GLOO|GOMP|HIP|HIPBLASLT|HSA"
    r"|IBV|KINETO|KMP|LMCACHE|MALLOC|MC|MIOPEN|MKL|NCCL|NIXL|NVIDIA|NVSHMEM|OFI|OMP|OMPI|PYTORCH"
    r"|RAY|RCCL|ROCM|ROCR|SGL|SGLANG|SLURM|TORCH|TORCHDYNAMO|TORCHELASTIC|TORCHINDUCTOR|TRACEKIT"
    r"|TRITON|UCC|UCX|VLLM|XPU|ZE)_\w+"
    r"|HF_HOME|HF_HUB_OFFLINE|TRANSFORMERS_OFFLINE|TOKENIZERS_PARALLELISM"
    r"|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH|PYTHONHASHSEED|(?:LOCAL_)?(?:RANK|WORLD_SIZE)"
)
"""Variables that change what a server does, or say where in a job it runs."""

Known = frozenset[str]
"""Secrets found before, to be masked in every text."""

_SHORT = 8  # fewer letters and nothing else: a word (EMPTY, vllm), masked in its place only

_PIECE = re.compile(r"[^\s'\"\[\](){},:;\\]+")
_OPTION = re.compile(r"--\S*|-[A-Za-z][\w=]{0,3}")
_SWITCH = re.compile(r"--(?:allow|disable|enable|no|require|skip|use|with)-\S*")
_ASSIGNMENT = re.compile(r"(-{0,2}([A-Za-z_][\w.-]*)=)(.*)", re.DOTALL)
_LOGIN_OPTIONS = ("-u", "--user", "--proxy-user")  # of curl: user:password


def known_secrets(arguments: Sequence[str], environment: Mapping[str, str]) -> Known:
    """Values that arguments and variables (all, not only the kept ones) name as secrets."""
    found: set[str] = set()

    def remember(secret: str) -> str:
        found.update(filter(_is_worth_finding, (secret, *_PIECE.findall(secret))))
        return MASK

    walk = _Walk(remember)
    walk.arguments(arguments)
    for name, value in environment.items():
        walk.named(name, value)
    return frozenset(found)


def redacted_arguments(arguments: Sequence[str], known: Known = frozenset()) -> list[str]:
    """A command line with its secrets masked: as many words as it has."""
    return _Walk(_star, known).arguments(arguments)


def redacted_environment(
    environment: Mapping[str, str], known: Known = frozenset()
) -> dict[str, str]:
    """The variables that `KEPT` names, in order of their names, with secrets masked."""
    walk = _Walk(_star, known)
    return {
        name: walk.named(name, environment[name])
        for name in sorted(environment)
        if KEPT.fullmatch(name)
    }


def redacted_text(text: str, known: Known = frozenset()) -> str:
    """A text with its secrets masked. Whole lines, please: half a secret is not recognised."""
    return _Walk(_star, known).text(text)


def redacted_url(url: str, known: Known = frozenset()) -> str:
    """A URL, with or without its scheme, less user, password and secret parameters."""
    if "://" in url:
        return redacted_text(url, known)
    return redacted_text(f"url://{url}", known).removeprefix("url://")


def redacted_value(value: object, known: Known = frozenset()) -> object:
    """A JSON value with its secrets masked; under a secret name nothing stays but null and bool."""
    return _Walk(_star, known).value(value)


@contextmanager
def errors_redacted(known: Known) -> Iterator[None]:
    """Mask the secrets in what a CaptureError of the body says."""
    try:
        yield
    except CaptureError as error:
        error.args = (redacted_text(str(error), known), *error.args[1:])
        raise


@dataclass(frozen=True, slots=True)
class _Walk:
    """Meets each secret once and puts there what `mask` gives."""

    mask: Mask
    known: Known = frozenset()

    def text(self, text: str) -> str:
        return masked_text(_without(self.known, text), self.mask)

    def arguments(self, words: Sequence[str]) -> list[str]:
        masked: list[str] = []
        option = ""  # whose values the next words are: `--api-key A B`
        for word in words:
            if _OPTION.fullmatch(word):
                option = "" if _SWITCH.fullmatch(word) else word
                masked.append(self.word(word))
            elif option in _LOGIN_OPTIONS and ":" in word:
                masked.append(mask_login(word, self.mask))
            else:
                masked.append(self._of_option(option, word))
        return masked

    def _of_option(self, option: str, value: str) -> str:
        if option and is_secret_option(option) and is_secret_value(option, value):
            return self.mask(value)
        return self.word(value)

    def named(self, name: str, value: str) -> str:
        """What stays of a string under a name."""
        if is_secret_name(name) and is_secret_value(name, value):
            return self.mask(value)
        return self.word(value)

    def word(self, word: str) -> str:
        """What stays of `--name=value`, `NAME=value`, JSON or anything else."""
        prefix = ""
        while found := _ASSIGNMENT.fullmatch(word):  # --env=HF_TOKEN=X
            prefix, word = prefix + found[1], found[3]
            is_secret = is_secret_option if found[1].startswith("--") else is_secret_name
            if is_secret(found[2]) and is_secret_value(found[2], word):
                return prefix + self.mask(word)
        return prefix + (self._json(word) if word[:1] in ("{", "[") else self.text(word))

    def value(self, value: object) -> object:
        """What stays of a JSON value."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {
                self.text(str(name)): self._member(str(name), item) for name, item in value.items()
            }
        return [self.value(item) for item in value] if isinstance(value, list | tuple) else value

    def _member(self, name: str, value: object) -> object:
        return self._hidden(name, value) if is_secret_name(name) else self.value(value)

    def _hidden(self, name: str, value: object) -> object:
        if isinstance(value, dict):
            return {self.text(str(key)): self._hidden(name, item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._hidden(name, item) for item in value]
        is_kept = value is None or isinstance(value, bool) or not is_secret_value(name, str(value))
        return value if is_kept else self.mask(str(value))

    def _json(self, text: str) -> str:
        try:
            value = json.loads(text)
            masked = self.value(value)
        except (ValueError, RecursionError):
            return self.text(text)
        return text if masked == value else json.dumps(masked)


def _star(_: str) -> str:
    return MASK


def _is_worth_finding(secret: str) -> bool:
    is_word = len(secret) < _SHORT and secret.isalpha()
    return len(secret) > 3 and not (is_word or NUMBER.fullmatch(secret) or SWITCH.fullmatch(secret))


def _without(known: Known, text: str) -> str:
    return _pattern_of(known).sub(MASK, text) if known else text


@lru_cache(maxsize=8)
def _pattern_of(known: Known) -> re.Pattern[str]:
    """Finds the secrets, also as they read within JSON and URLs; the longest first."""
    forms = {
        form
        for secret in known
        for form in (secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], quote(secret, ""))
    }
    return re.compile("|".join(map(_whole, sorted(forms, key=len, reverse=True))))


def _whole(form: str) -> str:
    """A short one only where no longer word holds it."""
    return re.escape(form) if len(form) >= _SHORT else rf"(?<!\w){re.escape(form)}(?!\w)"
