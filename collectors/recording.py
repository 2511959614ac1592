"""One run while it is recorded: its windows, and a run.json that is true at every moment."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tracekit.collectors.run_folder import RunFolder
from tracekit.collectors.secrets import Known, redacted_value
from tracekit.errors import CaptureError

RESERVE = ".reserve"
RESERVE_BYTES = 64 * 1024
"""Room for the last run.json: where the disk is full it is to say so."""

UNFINISHED = "the capture did not come to its end"


@dataclass(slots=True)
class Recording:
    """What run.json says so far; written anew whenever it grows."""

    folder: RunFolder
    context: dict[str, object]
    known: Known = field(default=frozenset(), repr=False)
    windows: list[Mapping[str, object]] = field(default_factory=list)
    is_complete: bool = False

    def add(self, **members: object) -> None:
        """Members of run.json that are known by now."""
        self.context.update(members)
        self.write(UNFINISHED)

    def add_window(self, window: Mapping[str, object]) -> None:
        """A window that is over."""
        self.windows.append(window)
        self.write(UNFINISHED)

    def finish(self) -> None:
        """All is there; what goes wrong from now on is of another run."""
        self.is_complete = True
        self.write(None)

    def write(self, error: str | None) -> None:
        """Write run.json, its secrets masked; `error` None says that the run is complete."""
        state = {"status": "complete" if error is None else "failed", "error": error}
        said = {**state, **self.context, "windows": self.windows}
        self.folder.write({name: redacted_value(value, self.known) for name, value in said.items()})


@contextmanager
def recording(
    folder: RunFolder, context: Mapping[str, object], known: Known = frozenset()
) -> Iterator[Recording]:
    """Make the folder and record into it; run.json says why where that does not finish."""
    folder.create()
    recorded = Recording(folder, dict(context), known)
    reserve = folder.path / RESERVE
    try:
        reserve.write_bytes(bytes(RESERVE_BYTES))
        recorded.write(UNFINISHED)
        yield recorded
    except CaptureError as error:
        reserve.unlink(missing_ok=True)
        _write_failure(recorded, str(error))
        raise
    except KeyboardInterrupt:
        _write_failure(recorded, "capture: interrupted")
        raise
    finally:
        reserve.unlink(missing_ok=True)
        folder.drop_empty()


def _write_failure(recorded: Recording, error: str) -> None:
    if not recorded.is_complete:
        with suppress(OSError):  # the run.json of before says that it is unfinished
            recorded.write(error)
