"""Classes of kernel and host op names: ordered rules from TOML, applied in SQL, first match wins.

Order: the user's rules, the exact names of taxonomy_names.tsv, the rules of taxonomy.toml.
A name that none of them knows is `unknown`.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb

from tracekit import marlin
from tracekit.errors import TaxonomyError
from tracekit.rules import Rule, builtin_document, builtin_rules, exact_names, read_rules

# Bounds the work on absurd names: on 1,694 real ones the first 200 characters decide every class.
_MATCHED_CHARACTERS = 500

# Triton 2 appended the argument specialisation, ROCm appends the kernel descriptor.
_NAME_SUFFIX = r"(_0d1[0-9dce]*)?(\.kd)?$"


def classify(con: duckdb.DuckDBPyConnection, run: str, user_rules: Path | None = None) -> None:
    """Fills table `kernel` for device names; in a run without any, for its host ops.

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
    """TEMP TABLE `name_class` (name, category, impl, rule, is_fused, is_tail) for the names of
    `class_name` (name)."""
    con.execute(_RULES, _columns(rules))
    patterns = {f"p{place}": rule.pattern for place, rule in enumerate(rules) if rule.pattern}
    con.execute(_match_sql(rules), {**patterns, "suffix": _NAME_SUFFIX})


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


def load_no_work(con: duckdb.DuckDBPyConnection) -> None:
    """Creates TEMP TABLE `cpu_no_work` (name, reason): what `classify` saw and is no activity.

    Reason: `no_work` (views, allocations, scalar reads), `wrapper` (compiler spans), `enqueue`
    (collectives that only count where the run has no `gloo:` spans).
    """
    con.execute(_NO_WORK, builtin_document()["cpu"])


def load_collective_categories(con: duckdb.DuckDBPyConnection) -> None:
    """Creates TEMP TABLE `collective_category` (collective, category), as kernels tell them."""
    pairs = [
        (collective, category)
        for category, names in builtin_document()["collective"].items()
        for collective in names
    ]
    con.execute(_COLLECTIVES, {"names": [n for n, _ in pairs], "categories": [c for _, c in pairs]})


def _columns(rules: Sequence[Rule]) -> dict[str, Sequence[str | bool | None]]:
    return {
        "categories": [rule.category for rule in rules],
        "impls": [rule.impl for rule in rules],
        "labels": [rule.label for rule in rules],
        "names": [rule.name for rule in rules],
        "fused": [rule.is_fused for rule in rules],
        "tails": [rule.is_tail for rule in rules],
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
SELECT DISTINCT name FROM device_event
UNION
SELECT DISTINCT name FROM host_op WHERE NOT EXISTS (FROM device_event)
UNION
SELECT DISTINCT name
FROM scope
WHERE NOT EXISTS (FROM device_event) AND NOT is_device AND starts_with(name, 'gloo:')
"""

_RULES = """
CREATE OR REPLACE TEMP TABLE class_rule AS
SELECT
    unnest(range(len($categories))) AS place,
    unnest($categories::VARCHAR[]) AS category,
    unnest($impls::VARCHAR[]) AS impl,
    unnest($labels::VARCHAR[]) AS rule,
    unnest($names::VARCHAR[]) AS name,
    unnest($fused::BOOLEAN[]) AS is_fused,
    unnest($tails::BOOLEAN[]) AS is_tail
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
SELECT
    placed.name, coalesce(category, 'unknown') AS category, impl, rule,
    coalesce(is_fused, false) AS is_fused, coalesce(is_tail, false) AS is_tail
FROM placed
LEFT JOIN class_rule USING (place)
"""

_FILL_KERNEL = """
INSERT INTO kernel (run, name, category, impl, rule, is_fused, is_tail)
SELECT $run, name, category, impl, rule, is_fused, is_tail FROM name_class
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
    FROM class_name   -- of host ops only where the run has no device events
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
    FROM device_event
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
