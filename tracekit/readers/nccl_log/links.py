"""Which communicator a connection is of, and whether it is its process's: lines name ranks only."""

from collections.abc import Sequence

from tracekit.readers.nccl_log.facts import Fact, Row


def with_comms(links: Sequence[Row], comms: Sequence[Row]) -> list[Row]:
    """Links with their communicator's pointer; NULL where several, or none, may be meant."""
    of_process: dict[object, list[Row]] = {}
    for comm in comms:
        of_process.setdefault((comm["host"], comm["pid"]), []).append(comm)
    return [
        {**link, "comm": _only(link, of_process.get((link["host"], link["pid"]), []))}
        for link in links
    ]


def own(links: Sequence[Fact], comms: Sequence[Row]) -> list[Fact]:
    """Links without those in doubt that begin at another rank than their process has.

    Source: src/transport/*.cc: the sender writes the line, of a network the receiver another.
    """
    ranks = {(comm["host"], comm["pid"], comm["rank"]) for comm in comms}
    return [one for one in links if not one.is_doubtful or _key(one.row) in ranks]


def _key(link: Row) -> tuple[object, object, object]:
    end = "to_rank" if link["direction"] == "receive" else "from_rank"
    return link["host"], link["pid"], link[end]


def _only(link: Row, comms: Sequence[Row]) -> str | None:
    ends = (_number(link["from_rank"]), _number(link["to_rank"]))
    fitting = {
        str(comm["comm"])
        for comm in comms
        if comm["rank"] in ends and max(ends) < _number(comm["n_ranks"])
    }
    return fitting.pop() if len(fitting) == 1 else None


def _number(value: object) -> int:
    return value if isinstance(value, int) else -1
