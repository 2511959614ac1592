"""Files in which the system tells of itself, under /proc and /sys."""

from pathlib import Path


def text_of(path: Path) -> str:
    """The text of one; empty where it is not there or may not be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
