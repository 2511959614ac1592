"""Rows of what a message says, as they are staged until it is known which of them stand."""

from tracekit.readers.nccl_log.text import Header
from tracekit.readers.rows import Value

Row = dict[str, Value]

NEVER = 1 << 30
"""More lines than say the same."""


def said_row(header: Header, form: str, text: str, *, is_doubtful: bool) -> Row:
    """Row of the stage for a message that needs no other line to be understood."""
    return {
        **header.columns,
        "form": form,
        "place": header.place if form == "warning" else None,
        "text": text,
        "is_doubtful": is_doubtful,
    }


def bare_row(at_byte: int, form: str, place: str | None, text: str) -> Row:
    """The same for a line without header."""
    return {
        "at_byte": at_byte,
        "tail_at_byte": None,
        "stamp": None,
        "host": None,
        "pid": None,
        "tid": None,
        "form": form,
        "place": place,
        "text": text,
        "is_doubtful": False,
    }
