"""The slow lane: lines that are no calls, and those that are not whole, one by one."""

import re
from collections import Counter

from tracekit.readers.nccl_log.calls import api_call_row, call_row
from tracekit.readers.nccl_log.comms import Communicators
from tracekit.readers.nccl_log.facts import NEVER, Row, bare_row, said_row
from tracekit.readers.nccl_log.formats import form_of
from tracekit.readers.nccl_log.notes import VERSION, WATCHDOG, note_of
from tracekit.readers.nccl_log.text import Header, Line, Piece, parsed
from tracekit.readers.nccl_log.torn import Mender
from tracekit.readers.nccl_log.trust import NOBODY, Process
from tracekit.readers.nccl_log.tuning import ModelTables

MAX_MESSAGE_CHARACTERS = 8 << 10
"""Of a message with its header: NCCL cuts them at 1,024 bytes, RCCL at 4,096."""

_TWICE = 2


class SlowLane:
    """Takes lines in the order of the file; what it finds stands in its members.

    `hosts` are those known to begin lines.
    `calls`, `said` and `mender.heads` are to be taken out now and then: a log may be full of them.
    """

    def __init__(self, hosts: frozenset[str]) -> None:
        self.calls: list[Row] = []
        self.said: list[Row] = []
        self.comms = Communicators()
        self.tables = ModelTables(self.said)
        self.mender = Mender()
        self.lines: Counter[Process] = Counter()
        self.n_left_out = 0
        self.left_out = ""
        self.n_too_long = 0
        self.too_long = ""
        self._hosts: Counter[str] = Counter()
        self._known = hosts

    def least(self, n_processes: int) -> int:
        """How many lines have to say the same where each is in doubt, in a log of so many."""
        if n_processes < _TWICE:
            return 1
        return NEVER if self.mender.is_in_pieces else _TWICE

    def take(self, line: Line) -> None:
        """Read one physical line."""
        one = parsed(line, self._known)
        if one.n_left_out:
            self.n_left_out += one.n_left_out
            self.left_out = self.left_out or f"byte {line.at_byte}: {one.pieces[-1].text}"
        for piece in one.pieces:
            if piece.header is None and _ends_stamp(piece.text):
                self.mender.tears.add(line.at_byte, piece.text)  # all of the line is torn
                return
            if piece.header is None:
                self._take_bare(line, piece)
            else:
                self._take_message(piece.header, piece, is_alone=len(one.pieces) == 1)

    def _take_bare(self, line: Line, piece: Piece) -> None:
        if mended := self.mender.tail(line.at_byte, piece):
            n_calls, n_said = len(self.calls), len(self.said)
            self._whole(*mended, is_doubtful=True)
            for row in self.calls[n_calls:] + self.said[n_said:]:
                row["tail_at_byte"] = line.at_byte
        elif not (piece.is_ended and self._take_note(line.at_byte, piece.text)):
            self.mender.cut_header(line.at_byte, piece)

    def _take_note(self, at_byte: int, text: str) -> bool:
        """Take a line without header if it is NCCL's version, or a hang that torch tells of."""
        if found := VERSION.fullmatch(text.strip()):
            self.said.append(bare_row(at_byte, "info", None, found[0]))
            self.comms.version(NOBODY, found["value"])
        elif found := WATCHDOG.fullmatch(text):
            self.said.append(bare_row(at_byte, "warning", "watchdog", found["value"]))
        return found is not None

    def _take_message(self, header: Header, piece: Piece, *, is_alone: bool) -> None:
        self.lines[header.process] += 1
        self.mender.begins(header)
        if piece.length > MAX_MESSAGE_CHARACTERS:
            self.n_too_long += 1
            self.too_long = self.too_long or f"byte {header.at_byte}"
            return
        self.comms.claim(header, piece.text)
        if is_alone:
            self._know(header.host)
        is_doubtful = self.mender.is_doubtful(header, piece.text)
        if not (piece.is_ended and self._whole(header, piece.text, is_doubtful=is_doubtful)):
            self.mender.head(header, piece)
            if "|" in piece.text:
                self.tables.lost(header)

    def _know(self, host: str) -> None:
        self._hosts[host] += 1
        if self._hosts[host] == _TWICE:
            self._known |= {host}

    def _whole(self, header: Header, text: str, *, is_doubtful: bool) -> bool:
        """Take a message if it is of a known form to its end; whether it is."""
        is_warning = header.level == "WARN"
        form = None if is_warning else form_of(text)
        if form and not form[0].startswith(("choice", "link")):
            self._take_form(header, *form, is_doubtful=is_doubtful)
        elif is_warning or form or note_of(text):
            said = "warning" if is_warning else "info"
            self.said.append(said_row(header, said, text, is_doubtful=is_doubtful))
            if not is_warning and (found := VERSION.fullmatch(text)):
                self.comms.version(header.process, found["value"])
        else:
            return False
        return True

    def _take_form(
        self, header: Header, form: str, found: re.Match[str], *, is_doubtful: bool
    ) -> None:
        if form == "call":
            self.calls.append(call_row(header, found[0]))
        elif form == "api_call":
            self.calls.append(api_call_row(header, found))
        elif form.startswith("table"):
            self._take_table(header, form, found, is_doubtful=is_doubtful)
        else:
            self._take_comm(header, form, found, is_doubtful=is_doubtful)

    def _take_table(
        self, header: Header, form: str, found: re.Match[str], *, is_doubtful: bool
    ) -> None:
        if form == "table_head":
            self.tables.head(header, found)
        elif form == "table_protocols":
            self.tables.protocols(header, found)
        elif form == "table_threads":
            self.tables.threads(header, found)
        else:
            self.tables.row(header, found, is_doubtful=is_doubtful)

    def _take_comm(
        self, header: Header, form: str, found: re.Match[str], *, is_doubtful: bool
    ) -> None:
        if form == "init":
            self.comms.init(header, found, is_doubtful=is_doubtful)
        elif form == "nodes":
            self.comms.nodes(header, found)
        elif form == "timings":
            self.comms.timings(header, found)
        elif not is_doubtful:
            self.comms.channels(header, found)


def _ends_stamp(text: str) -> bool:
    """Whether it is the end of a time whose beginning is missing."""
    return text.endswith("] ") and "[" not in text
