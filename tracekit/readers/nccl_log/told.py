"""What the text of a message tells: rows of the table `nccl_form`, one for each text."""

import json
import re

from tracekit.readers.nccl_log.facts import Row
from tracekit.readers.nccl_log.formats import form_of
from tracekit.readers.nccl_log.notes import note_of
from tracekit.readers.nccl_log.tuning import LAST_WORDS, choice_of
from tracekit.readers.rows import Value

_PLACE = ("channel", "connection")
"""Columns that say where a connection is, not what it is."""


def told(form: str, text: str) -> list[Row]:
    """Rows for a text: one, of the model's table one per cell; none where nobody asks for it.

    `content` is equal where two texts say the same; `word` is the last one where it may be cut
    unseen, and `topic` what decides it.
    """
    rows = _cells(text) if form == "model" else [_message(text)]
    return [{"form": form, "text": text, **row} for row in rows if row]


def _message(text: str) -> Row | None:
    name, found = form_of(text) or ("", None)
    if found is not None and name == "link":
        return _link(found)
    if found is not None and name.startswith("choice"):
        return _choice(name, found)
    return _note(text)


def _cells(text: str) -> list[Row]:
    cells: list[Row] = json.loads(text)
    return [
        {
            "kind": "model",
            "content": _key(*cell.values()),
            "topic": cell["category"],
            "word": cell["algorithm"],
            "cell": i,
            **cell,
        }
        for i, cell in enumerate(cells)
    ]


def _choice(name: str, found: re.Match[str]) -> Row:
    row = choice_of(name, found)
    topic, word = LAST_WORDS.get(name, (None, None))
    return {
        "kind": "choice",
        "content": _key(*row.values()),
        "topic": _key(name, row[topic]) if topic else None,
        "word": str(row[word]) if word else None,
        **row,
    }


def _link(found: re.Match[str]) -> Row:
    connection = found["connection"]
    row: Row = {
        "channel": int(found["channel"]),
        "connection": int(connection) if connection else None,
        "from_rank": int(found["from"]),
        "to_rank": int(found["to"] or found["from"]),  # CollNet names one rank
        "direction": found["direction"],
        "transport": found["transport"],
        "detail": found["detail"],
    }
    return {
        "kind": "link",
        "content": _key(*(value for name, value in row.items() if name not in _PLACE)),
        "topic": _key(row["transport"], row["direction"]),
        "word": row["detail"],
        **row,
    }


def _note(text: str) -> Row | None:
    row = note_of(text)
    return row and {
        "kind": "note",
        "content": _key(*row.values()),
        "topic": _key(row["note_kind"], row["name"]),
        "word": row["value"],
        **row,
    }


def _key(*values: Value) -> str:
    return json.dumps(values)
