"""Measured points of a file, and what of it could not be read."""

from dataclasses import asdict, dataclass

from tracekit.readers.rows import Value

MAX_BYTES = 2**50
MAX_TIME_NS = 24 * 3600 * 10**9


@dataclass(frozen=True, slots=True)
class Point:
    """A measured size: the columns of table `calibration`."""

    tool: str
    mode: str
    category: str
    backend: str | None
    n_ranks: int | None
    gpu: str | None
    dtype: str | None
    bytes: int
    is_in_place: bool
    n: int | None
    time_ns: int
    p95_ns: int | None
    delayed_rank: int | None = None
    delay_ns: int | None = None

    def row(self) -> dict[str, Value]:
        """Its columns by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Sheet:
    """Points in order, and texts that are none."""

    points: list[Point]
    bad: list[str]

    def add(self, point: Point | None, said: str) -> None:
        """Keep a point; None: `said` is none."""
        if point is None:
            self.bad.append(said)
        else:
            self.points.append(point)
