"""All other facts of NCCL's logs that topology or trouble is told from: rows of `nccl_note`."""

import json
import re

from tracekit.readers.nccl_log.facts import Row
from tracekit.readers.nccl_log.formats import RING, TREES

VERSION = re.compile(r"(?P<lib>RCCL|NCCL) version\s*:? ?(?P<value>\d+\.\d+\.\d+)(?:[+\- ].*)?")
MAX_CHARACTERS = 2000
"""Of what a note says."""

_FORMS = {
    "version": (VERSION,),
    "driver": (re.compile(r"cuda(?:Driver|Runtime)Version (?P<value>\d{4,6})"),),
    "setting": (
        re.compile(r"(?P<name>(?:NCCL|RCCL)_\w+) set by environment to (?P<value>.*)\."),
        re.compile(r"(?P<name>(?:NCCL|RCCL)_\w+) set to (?P<value>.*)"),
    ),
    "ring": (re.compile(RING),),
    "trees": (re.compile(TREES),),
    "system": (
        re.compile(r"=== System : maxBw (?P<max_bw>[\d.]+) totalBw (?P<total_bw>[\d.]+) ==="),
    ),
    "node": (
        re.compile(r"\s*\+ (?P<name>[A-Z0-9]{3,4})\[(?P<bw>[\d.]+)\] - (?P<value>\S+)(?: \(.*\))?"),
        re.compile(r"(?P<name>CPU|GPU)/(?P<value>[0-9A-Fa-f\-]+(?: \(.*\))?)"),
    ),
    "path": (
        re.compile(r"(?P<name>(?:GPU|NET|CPU|NIC)/\S+) :(?P<value>(?:\S+ \(\d+/[\d.]+/\w+\) ?)+)"),
    ),
    "pattern": (
        re.compile(
            r"Pattern (?P<name>\d+), crossNic (?P<cross_nic>\d+), nChannels (?P<n_channels>\d+), "
            r"(?:bw|speed) (?P<bw>[\d.]+)/(?P<bw_inter>[\d.]+), "
            r"type (?P<type>\w+)/(?P<type_inter>\w+), sameChannels (?P<same_channels>\d)"
        ),
    ),
    "connected": (
        re.compile(
            r"Connected (?P<value>all rings|all trees|binomial trees|NVLS tree)"
            r"(?:, use ring PXN (?P<pxn>\d) GDR (?P<gdr>\d))?"
        ),
    ),
    "p2p_off": (
        re.compile(
            r"(?P<value>P2P is disabled between connected GPUs (?P<from>\d+) and (?P<to>\d+)).*"
        ),
        re.compile(r"(?P<value>Could not enable P2P between dev.*)"),
        re.compile(r"(?P<value>Check P2P Type .*isAllDirectP2p 0\b.*)"),
        re.compile(r"(?P<value>.*intraNodeP2pSupport 0\b.*)"),
    ),
    "backtrace": (
        re.compile(
            r"(?P<name>[\w./\-]+\.(?:cc|cu|h|cpp):\d+) -> (?P<value>\d+)"
            r"(?: \[(?P<thread>[^\]]+)\])?"
        ),
    ),
    "warning": (
        re.compile(r"(?P<value>cuMem host allocations do not appear to be working.*)"),
        re.compile(r'(?P<value>.*Missing "iommu=pt".*)'),
        re.compile(r"(?P<value>.*NUMA auto balancing enabled.*)"),
    ),
    "other": (
        re.compile(r"(?P<name>NVLS) multicast support is (?P<value>available|not available).*"),
        re.compile(r"(?P<name>P2P Chunksize) set to (?P<value>\d+)"),
        re.compile(r"(?P<name>threadThresholds) (?P<value>[\d/]+ \| [\d/]+ \| \d+ \| \d+)"),
        re.compile(r"(?P<name>Check P2P Type) (?P<value>.*)"),
        re.compile(r"(?P<name>Using network) (?P<value>.+)"),
        re.compile(r"(?P<name>NCCL git version) (?P<value>.+)"),
    ),
}

WATCHDOG = re.compile(
    r".*?(?P<value>Watchdog caught collective operation timeout: .*|last enqueued NCCL work: .*)"
)
"""torch's own messages of a collective that hangs; they have no header of NCCL's."""


PATTERNS = tuple(
    pattern.pattern for kind, of in _FORMS.items() if kind != "version" for pattern in of
)
"""Of messages that are notes, but for versions."""


def note_of(text: str) -> Row | None:
    """What a message notes, in columns of `nccl_note`; None for one nobody asks for."""
    for kind, patterns in _FORMS.items():
        for pattern in patterns:
            if found := pattern.fullmatch(text):
                return _note(kind, found)
    return None


def _note(kind: str, found: re.Match[str]) -> Row:
    said = found.groupdict()
    name, value = said.pop("name", None), said.pop("value", None)
    if kind == "version":
        name = str(said.pop("lib")).lower()
    if kind == "driver":
        kind, name = "version", "driver"
    told = {key: one for key, one in said.items() if one is not None}
    return {
        "note_kind": kind,
        "name": name,
        "value": " ".join((value or found[0]).split())[:MAX_CHARACTERS],
        "facts": json.dumps(told) if told else None,
    }
