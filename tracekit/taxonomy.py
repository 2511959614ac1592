"""Classes of kernel and host op names: ordered rules from TOML, applied in SQL, first match wins.

Order: the user's rules, the exact names of taxonomy_names.tsv, the rules of taxonomy.toml.
A name that none of them knows is `unknown`.
"""

import csv
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb

from tracekit import marlin
from tracekit.errors import TaxonomyError

RULES_FILE = "taxonomy.toml"
NAMES_FILE = "taxonomy_names.tsv"

# 200,000 names of 150 characters no rule matches take 7 s; the cap keeps absurd names from costing more.
# The longest prefix any rule needs on 1,700 real names is under 1,000 characters.
_MATCHED_CHARACTERS = 2000

# Triton 2 appended the argument specialisation, ROCm appends the kernel descriptor.
_NAME_SUFFIX = r"(_0d1[0-9dce]*)?(\.kd)?$"

_RULE_KEYS = {"category", "impl", "pattern", "examples", "source"}


@dataclass(frozen=True, slots=True)
class Rule:
    """A class of names: those a pattern matches, or one exact name where `pattern` is None."""

    category: str
    impl: str | None
    pattern: str | None
    name: str | None
    examples: tuple[str, ...]
    source: str
    file: str

    @property
    def label(self) -> str:
        """What column `rule` of table `kernel` says of a name this rule won."""
        return f"{self.file}: {self.pattern}" if self.pattern else self.file


def classify(con: duckdb.DuckDBPyConnection, run: str, user_rules: Path | None = None) -> None:
    """Fills table `kernel` for the device names in `event`; in a run without any, for its host ops.

    Raises:
        TaxonomyError: `user_rules` cannot be read or holds a faulty rule.
    """
    user = read_rules(user_rules) if user_rules else []
    check_patterns(con, user)
    con.execute(_NAMES)
    match_names(con, [*user, *exact_names(), *builtin_rules()])
    con.execute(_FILL_KERNEL, {"run": run})
    _decode_marlin(con, run)


def match_names(con: duckdb.DuckDBPyConnection, rules: Sequence[Rule]) -> None:
    """Creates TEMP TABLE `name_class` (name, category, impl, rule) from TEMP TABLE `class_name` (name)."""
    con.execute(_RULES, _columns(rules))
    patterns = {f"p{place}": rule.pattern for place, rule in enumerate(rules) if rule.pattern}
    con.execute(_match_sql(rules), {**patterns, "suffix": _NAME_SUFFIX})


def builtin_rules() -> list[Rule]:
    """Rules of taxonomy.toml in order."""
    return _rules(_builtin(), RULES_FILE)


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
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TaxonomyError(f"{path}: {error.strerror}; name a readable file of rules") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TaxonomyError(f"{path}: not TOML: {error}; see docs/taxonomy.md") from error
    return _rules(document, path.name)


def check_patterns(con: duckdb.DuckDBPyConnection, rules: Iterable[Rule]) -> None:
    """Compiles each pattern and tries it on its own examples.

    Raises:
        TaxonomyError: not a regular expression (RE2), or an example the pattern does not match.
    """
    for number, rule in enumerate(rules, 1):
        place = f"{rule.file}: rule {number}"
        try:
            missed = con.execute(_MISSED, [list(rule.examples), rule.pattern]).fetchone()
        except duckdb.Error as error:
            fault = str(error).splitlines()[0]
            raise TaxonomyError(f"{place}: pattern {rule.pattern!r}: {fault}; use RE2") from error
        if missed:
            raise TaxonomyError(
                f"{place}: its pattern does not match its example {missed[0]!r}; correct either"
            )


def find_rule(label: str) -> Rule | None:
    """The built-in rule that a value of `kernel.rule` names; None for rules of a user's file."""
    return next((rule for rule in builtin_rules() if rule.label == label), None)


def load_no_work(con: duckdb.DuckDBPyConnection) -> None:
    """Creates TEMP TABLE `cpu_no_work` (name, reason): the ops in `event` that are no activity.

    Reason: `no_work` (views, allocations, scalar reads), `wrapper` (compiler spans), `enqueue`
    (collectives that only count where the run has no `gloo:` spans).
    """
    con.execute(_NO_WORK, _builtin()["cpu"])


def load_collective_categories(con: duckdb.DuckDBPyConnection) -> None:
    """Creates TEMP TABLE `collective_category` (collective, category) for the values in `event`."""
    pairs = [
        (collective, category)
        for category, names in _builtin()["collective"].items()
        for collective in names
    ]
    con.execute(_COLLECTIVES, {"names": [n for n, _ in pairs], "categories": [c for _, c in pairs]})


def _builtin() -> dict[str, Any]:
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
    )


def _category(entry: dict[str, Any], place: str) -> str:
    category = _required(entry, "category", place)
    allowed: list[str] = _builtin()["categories"]
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


def _examples(entry: dict[str, Any], place: str) -> tuple[str, ...]:
    examples = entry.get("examples", [])
    if not isinstance(examples, list) or not all(isinstance(item, str) for item in examples):
        raise TaxonomyError(f'{place}: examples is not a list of text; write ["name", ...]')
    return tuple(examples)


def _columns(rules: Sequence[Rule]) -> dict[str, list[str | None]]:
    return {
        "categories": [rule.category for rule in rules],
        "impls": [rule.impl for rule in rules],
        "labels": [rule.label for rule in rules],
        "names": [rule.name for rule in rules],
    }


def _match_sql(rules: Sequence[Rule]) -> str:
    """One CASE over all rules: DuckDB tries each only on the names still unmatched (160 rules x
    1,272 names: 0.06 s; a statement per rule: 0.24 s). Holds parameter names, no data."""
    branches, exact_done = [], False
    for place, rule in enumerate(rules):
        if rule.pattern:
            branches.append(f"WHEN regexp_matches(head, $p{place}) THEN {place}")
        elif not exact_done:
            branches.append("WHEN exact.place IS NOT NULL THEN exact.place")
            exact_done = True
    return _MATCH.format(case=" ".join(branches), characters=_MATCHED_CHARACTERS)


def _decode_marlin(con: duckdb.DuckDBPyConnection, run: str) -> None:
    names = con.execute(_MARLIN_NAMES, {"run": run}).fetchall()
    decoded = {name: kernel for (name,) in names if (kernel := marlin.decode(name))}
    if not decoded:
        return
    con.execute(
        _SET_MARLIN,
        {
            "run": run,
            "names": list(decoded),
            "weight_types": [kernel.weight_type for kernel in decoded.values()],
            "group_sizes": [kernel.group_size for kernel in decoded.values()],
            "tiles": [kernel.tile for kernel in decoded.values()],
        },
    )


_NAMES = """
CREATE OR REPLACE TEMP TABLE class_name AS
WITH device AS (SELECT name FROM event WHERE kind IN ('kernel', 'memcpy', 'memset'))
SELECT DISTINCT name FROM device
UNION
SELECT DISTINCT name
FROM event
WHERE NOT EXISTS (FROM device)
    AND (kind = 'op' OR (kind = 'scope' AND starts_with(name, 'gloo:')))
"""

_RULES = """
CREATE OR REPLACE TEMP TABLE class_rule AS
SELECT
    unnest(range(len($categories))) AS place,
    unnest($categories::VARCHAR[]) AS category,
    unnest($impls::VARCHAR[]) AS impl,
    unnest($labels::VARCHAR[]) AS rule,
    unnest($names::VARCHAR[]) AS name
"""

_MATCH = """
CREATE OR REPLACE TEMP TABLE name_class AS
WITH headed AS (
    SELECT
        name,
        left(name, {characters}) AS head,
        regexp_replace(name, $suffix, '') AS bare
    FROM class_name
),
placed AS (
    SELECT headed.name, CASE {case} END AS place
    FROM headed
    LEFT JOIN class_rule AS exact ON exact.name = headed.bare
)
SELECT placed.name, coalesce(category, 'unknown') AS category, impl, rule
FROM placed
LEFT JOIN class_rule USING (place)
"""

_FILL_KERNEL = """
INSERT INTO kernel (run, name, category, impl, rule)
SELECT $run, name, category, impl, rule FROM name_class
"""

_MISSED = """
SELECT example
FROM (SELECT unnest($1::VARCHAR[] || ['']) AS example)
WHERE NOT regexp_matches(example, $2) AND example <> ''
"""

_NO_WORK = """
CREATE OR REPLACE TEMP TABLE cpu_no_work AS
SELECT name, reason
FROM (
    SELECT
        name,
        CASE
            WHEN regexp_matches(name, $wrapper) THEN 'wrapper'
            WHEN regexp_matches(name, $no_work) THEN 'no_work'
            WHEN regexp_matches(name, $enqueue) THEN 'enqueue'
        END AS reason
    FROM (SELECT DISTINCT name FROM event WHERE kind = 'op')
)
WHERE reason IS NOT NULL
"""

_COLLECTIVES = """
CREATE OR REPLACE TEMP TABLE collective_category AS
WITH known AS (
    SELECT unnest($names::VARCHAR[]) AS name, unnest($categories::VARCHAR[]) AS category
),
seen AS (
    SELECT DISTINCT
        collective,
        replace(replace(lower(collective), 'nccl:', ''), '_', '') AS name
    FROM event
    WHERE collective IS NOT NULL
)
SELECT collective, category FROM seen JOIN known USING (name)
"""

_MARLIN_NAMES = """
SELECT name FROM kernel WHERE run = $run AND contains(name, 'Marlin')
"""

_SET_MARLIN = """
UPDATE kernel
SET weight_type = decoded.weight_type, group_size = decoded.group_size, tile = decoded.tile
FROM (
    SELECT
        unnest($names::VARCHAR[]) AS name,
        unnest($weight_types::VARCHAR[]) AS weight_type,
        unnest($group_sizes::INTEGER[]) AS group_size,
        unnest($tiles::VARCHAR[]) AS tile
) AS decoded
WHERE kernel.run = $run AND kernel.name = decoded.name
"""
