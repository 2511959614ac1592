"""Measured points of a file, and what of it could not be read."""

from dataclasses import asdict, dataclass, field

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
    """Points in order, texts that are none, and texts of points whose results were wrong."""

    points: list[Point] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, point: Point | None, said: str) -> None:
        """Keep a point; None: `said` is none."""
        if point is None:
            self.bad.append(said)
        else:
            self.points.append(point)

    @property
    def place(self) -> tuple[int, int]:
        """How many points and wrong ones there are so far."""
        return len(self.points), len(self.wrong)

    def fail(self, begin: tuple[int, int], said: str) -> None:
        """A test found wrong results; where it does not say in which points, none counts."""
        n_points, n_wrong = begin
        if len(self.wrong) == n_wrong:
            self.wrong.extend([said] * max(1, len(self.points) - n_points))
            del self.points[n_points:]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found, right or wrong."""
        return not (self.points or self.bad or self.wrong)
