"""Rules of the taxonomy as data: read from TOML, checked, not applied (tracekit.taxonomy does)."""

import csv
import os
import stat
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from tracekit.errors import TaxonomyError

RULES_FILE = "taxonomy.toml"
NAMES_FILE = "taxonomy_names.tsv"

MAX_BYTES = 4_000_000
"""Of a user's file of rules."""

_RULE_KEYS = {"category", "impl", "pattern", "examples", "source", "fused", "tail"}


@dataclass(frozen=True, slots=True)
class Rule:
    """A class of names: those a pattern matches, or one exact name where `pattern` is None.

    `is_fused`: a collective that does other work too; `is_tail`: the second kernel of one.
    """

    category: str
    impl: str | None
    pattern: str | None
    name: str | None
    examples: tuple[str, ...]
    source: str
    file: str
    is_fused: bool = False
    is_tail: bool = False

    @property
    def label(self) -> str:
        """What column `rule` of table `kernel` says of a name this rule won."""
        return f"{self.file}: {self.pattern}" if self.pattern else self.file


def builtin_rules() -> list[Rule]:
    """Rules of taxonomy.toml in order."""
    return _rules(builtin_document(), RULES_FILE)


def exact_names() -> list[Rule]:
    """Names whose class no pattern can tell, from taxonomy_names.tsv."""
    text = files("tracekit").joinpath(NAMES_FILE).read_text(encoding="utf-8")
    return [
        Rule(row["category"], None, None, row["name"], (), row["source"], NAMES_FILE)
        for row in csv.DictReader(text.splitlines(), delimiter="\t")
    ]


def read_rules(path: Path) -> list[Rule]:
    """A user's rule file, in order. Patterns are not compiled yet: see `check_patterns`.

    Raises:
        TaxonomyError: unreadable file, bad TOML, or a rule that lacks or misspells something.
    """
    try:
        _refuse_stream(path.stat(), path)
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TaxonomyError(f"{path}: {error.strerror}; name a readable file of rules") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TaxonomyError(f"{path}: not TOML: {error}; see docs/taxonomy.md") from error
    return _rules(document, path.name)


def _refuse_stream(status: os.stat_result, path: Path) -> None:
    """Refuse what would take for ever to read: a device, a pipe, a trace given by mistake."""
    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
        raise TaxonomyError(f"{path}: not a file of at most 4 MB; name a file of rules")


def find_rule(label: str) -> Rule | None:
    """The built-in rule that a value of `kernel.rule` names; None for rules of a user's file."""
    return next((rule for rule in builtin_rules() if rule.label == label), None)


@cache
def builtin_document() -> dict[str, Any]:
    """taxonomy.toml as it is: rules and lists. Read-only: it is cached."""
    text = files("tracekit").joinpath(RULES_FILE).read_text(encoding="utf-8")
    return tomllib.loads(text)


def _rules(document: dict[str, Any], file: str) -> list[Rule]:
    entries = document.get("rule")
    if not isinstance(entries, list) or not entries:
        raise TaxonomyError(f"{file}: no [[rule]] in it; see docs/taxonomy.md")
    return [_rule(entry, file, number) for number, entry in enumerate(entries, 1)]


def _rule(entry: object, file: str, number: int) -> Rule:
    place = f"{file}: rule {number}"
    if not isinstance(entry, dict):
        raise TaxonomyError(f"{place}: not a table; write it as [[rule]]")
    if extra := sorted(set(entry) - _RULE_KEYS):
        allowed = ", ".join(sorted(_RULE_KEYS))
        raise TaxonomyError(f"{place}: unknown key {extra[0]!r}; use {allowed}")
    return Rule(
        category=_category(entry, place),
        impl=_text(entry, "impl", place) or None,
        pattern=_required(entry, "pattern", place),
        name=None,
        examples=_examples(entry, place),
        source=_text(entry, "source", place),
        file=file,
        is_fused=_flag(entry, "fused", place),
        is_tail=_flag(entry, "tail", place),
    )


def _category(entry: dict[str, Any], place: str) -> str:
    category = _required(entry, "category", place)
    allowed: list[str] = builtin_document()["categories"]
    if category not in allowed:
        raise TaxonomyError(f"{place}: unknown category {category!r}; use {', '.join(allowed)}")
    return category


def _required(entry: dict[str, Any], key: str, place: str) -> str:
    value = _text(entry, key, place)
    if not value:
        raise TaxonomyError(f"{place}: no {key}; give it one")
    return value


def _text(entry: dict[str, Any], key: str, place: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str):
        raise TaxonomyError(f"{place}: {key} is not text; put it in quotes")
    return value


def _flag(entry: dict[str, Any], key: str, place: str) -> bool:
    value = entry.get(key, False)
    if not isinstance(value, bool):
        raise TaxonomyError(f"{place}: {key} is not a truth value; write true or leave it out")
    return value


def _examples(entry: dict[str, Any], place: str) -> tuple[str, ...]:
    examples = entry.get("examples", [])
    if not isinstance(examples, list) or not all(isinstance(item, str) for item in examples):
        raise TaxonomyError(f'{place}: examples is not a list of text; write ["name", ...]')
    return tuple(examples)
