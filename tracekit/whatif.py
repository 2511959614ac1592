"""Time per token with other drafts or another load, from what runs measured or a user gives."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import duckdb

from tracekit import queries, schema
from tracekit.database import Database, Result
from tracekit.errors import QueryError
from tracekit.queries.header import Value

SUBJECTS = {"baseline", "speculative"}


@dataclass(frozen=True, slots=True)
class Prediction:
    """Rows of the report `whatif`, and those of `whatif_inputs` that they stand on."""

    inputs: Result
    rows: Result


def predict(
    database: Database,
    run: str | None,
    calibrate: str | None = None,
    *,
    curve: str | None = None,
    ks: str = "1,2,3,4,5,6,7,8",
    concurrencies: str = "1,4,16,64",
    **given: Value,
) -> Prediction:
    """What K drafted tokens would give at each concurrency.

    `given` are the other parameters of the report `whatif_inputs`; without a run all is given.

    Raises:
        QueryError: nothing to start from, as `forbidden` has it, or nothing to tell.
        RunError: no such run.
    """
    if run is None:
        _check_given(given)
    runs = {"run": run, "calibrate": calibrate, "curve": curve}
    named = {key: name and database.run_name(name) for key, name in runs.items()}
    inputs = database.report("whatif_inputs", **named, **given)
    rows = inputs.records()
    if curve is not None and all(row.subject != "curve" for row in rows):
        raise QueryError(
            f"{curve}: no curve of all-reduces that applies: it takes two sizes, as many ranks as "
            "the run has, and message sizes of the run; measure with `tracekit bench allreduce`"
        )
    reason = forbidden(rows, run, calibrate)
    if reason is not None:
        raise QueryError(reason)
    asked = {"inputs": told(rows), "ks": ks, "concurrencies": concurrencies}
    found = database.report("whatif", **asked)
    if all(row.k == 0 for row in found.records()):
        raise QueryError("whatif: no K asked for can give as many tokens a step; give a larger --k")
    return Prediction(inputs, found)


def told(inputs: list[SimpleNamespace]) -> str:
    """Rows of the report `whatif_inputs`, as the report `whatif` takes them."""
    return json.dumps([vars(row) for row in inputs])


@contextmanager
def without_runs() -> Iterator[Database]:
    """A database with no run in it: what is predicted there stands on what is given alone."""
    con = duckdb.connect(":memory:")
    try:
        con.execute("ATTACH ':memory:' AS tracekit; USE tracekit")
        schema.apply(con)
        queries.install(con)
        yield Database(Path(":memory:"), con)
    finally:
        con.close()


def forbidden(
    inputs: list[SimpleNamespace], run: str | None, calibrate: str | None = None
) -> str | None:
    """Why nothing can be predicted from these rows of `whatif_inputs`; None where it can."""
    subjects = {row.subject for row in inputs} & SUBJECTS
    if run is not None and not subjects:
        return f"{run}: no decode step that is whole; profile more, or give all times and no run"
    if calibrate is not None and subjects != SUBJECTS:
        return (
            f"{calibrate}: it has drafts, and {run} too, or neither has; calibrate a run without "
            "drafts by one with drafts, or the other way round"
        )
    if any(row.input == "pass_ns" and row.value == 0 for row in inputs):
        runs = " or ".join(filter(None, (run, calibrate)))
        return (
            f"{runs}: nothing tells the target's pass from the rest of a step (phases are other); "
            "capture with scopes (docs/vllm_scopes.md), or give all times and no run"
        )
    return None


def _check_given(given: Mapping[str, Value]) -> None:
    """Without a run every part of the sum has to be given."""
    missing = [
        " or ".join(options.values())
        for options in _NEEDED
        if all(given.get(name) is None for name in options)
    ]
    if missing:
        raise QueryError(f"whatif: no run to start from; name one, or give {', '.join(missing)}")


_NEEDED = (
    {"baseline_ns": "--baseline-ms"},
    {"verify_ns": "--verify-ms"},
    {"draft_ns": "--draft-ms-per-step", "draft_fraction": "--draft-fraction"},
    {"tokens_per_step": "--tokens-per-step", "acceptance": "--acceptance"},
)
"""Parameters, of which one of each line is needed, and the options that give them."""
