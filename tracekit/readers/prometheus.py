"""A server's /metrics text from before and after each window, to table `counter`.

Kept are all samples with a finite value but histogram buckets (`_bucket` with `le`): on vLLM 0.32
they are 294 of 430 samples and no question needs them, `_sum` and `_count` stay. `_created` stays
too: where it differs between the two texts the server was started again in between. Values that
no counter can have reached go to the ledger, and those of drafts that are NaN or infinite.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import duckdb
from prometheus_client.parser import text_string_to_metric_families

from tracekit.readers.accounts import note
from tracekit.readers.folder import InputFile
from tracekit.readers.kind import read_text

Moment = Literal["before", "after"]

MAX_BYTES = 16 * 1024 * 1024
"""Text beyond it is not read; vLLM's has 55 KB."""

MAX_VALUE = 2.0**53
"""A float that was counted up by one ends here; sums of larger ones would not fit a BIGINT."""

DRAFTS = "vllm:spec_decode_num_"
"""How names of counters begin that are read of drafts: one that is not finite is a loss."""

PROFILED = "profiled"
UNPROFILED = "unprofiled"
"""Windows of texts that no run.json names."""

_MOMENT = re.compile(r"(?<![a-z])(before|after)(?![a-z])", re.IGNORECASE)


@dataclass(slots=True)
class Samples:
    """Samples of one text in its order, and the lines that are none or have unusable values."""

    names: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    bad_lines: list[str] = field(default_factory=list)
    absurd_lines: list[str] = field(default_factory=list)
    endless_lines: list[str] = field(default_factory=list)


def read_metrics(
    con: duckdb.DuckDBPyConnection,
    files: Sequence[tuple[int, InputFile]],
    moments: Mapping[int, tuple[str, Moment]],
    *,
    run: str,
) -> None:
    """Fill `counter`, and `ledger` with what could not be read or has no place.

    `moments` has window and moment of each file by its `file_id`.
    """
    for file_id, file in files:
        samples = parse(read_text(file.path, MAX_BYTES))
        if file_id in moments:
            _insert(con, run, file_id, moments[file_id], samples)
        else:
            note(con, run, file_id, "metrics without before or after", samples.names)
        note(con, run, file_id, "metrics line not understood", samples.bad_lines)
        note(con, run, file_id, "metrics value too large", samples.absurd_lines)
        note(con, run, file_id, "counters of drafts are no finite numbers", samples.endless_lines)


def parse(text: str) -> Samples:
    """Samples of a /metrics text; a line that is none spoils no other."""
    found = Samples()
    for line in map(str.strip, text.split("\n")):
        if line and not line.startswith("#"):
            _parse_line(line, found)
    return found


def moment_of(name: str) -> Moment | None:
    """Whether a file name says `before` or `after` as a word of its own."""
    words = {word.lower() for word in _MOMENT.findall(name)}
    if words == {"before"}:
        return "before"
    return "after" if words == {"after"} else None


def moments_of_names(
    files: Sequence[tuple[int, InputFile]],
) -> dict[int, tuple[str, Moment]]:
    """Window and moment of each file whose other half is there: same name but for the word."""
    halves: dict[tuple[Path, str], dict[Moment, list[int]]] = {}
    for file_id, file in files:
        moment = moment_of(file.path.name)
        if moment is not None:
            rest = file.path.parent, _MOMENT.sub("", file.path.name)
            halves.setdefault(rest, {}).setdefault(moment, []).append(file_id)
    return {
        file_id: (UNPROFILED if UNPROFILED in rest.lower() else PROFILED, moment)
        for (_, rest), half in halves.items()
        if len(half) == 2
        for moment, ids in half.items()
        for file_id in ids
    }


def _parse_line(line: str, found: Samples) -> None:
    try:
        (sample,) = (s for m in text_string_to_metric_families(line + "\n") for s in m.samples)
    except ValueError:
        found.bad_lines.append(line)
        return
    is_bucket = sample.name.endswith("_bucket") and "le" in sample.labels
    if not math.isfinite(sample.value) and sample.name.startswith(DRAFTS):
        found.endless_lines.append(line)
    if is_bucket or not math.isfinite(sample.value):
        return
    if abs(sample.value) > MAX_VALUE:
        found.absurd_lines.append(line)
    else:
        found.names.append(sample.name)
        found.labels.append(json.dumps(sample.labels, ensure_ascii=False))
        found.values.append(sample.value)


def _insert(
    con: duckdb.DuckDBPyConnection,
    run: str,
    file_id: int,
    moment: tuple[str, Moment],
    samples: Samples,
) -> None:
    con.execute(
        "INSERT INTO counter (run, file_id, window_name, moment, name, labels, value) SELECT "
        "$run, $file_id, $window, $moment, unnest($names), unnest($labels)::JSON, unnest($values)",
        {
            "run": run,
            "file_id": file_id,
            "window": moment[0],
            "moment": moment[1],
            "names": samples.names,
            "labels": samples.labels,
            "values": samples.values,
        },
    )
