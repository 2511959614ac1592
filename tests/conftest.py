"""What every run of the tests has in common."""

import signal

import pytest
from generated import Generated

# What a shell runs in the background ignores it, and so would what the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

NEEDS = {
    "vllm": "need real vLLM and were left out: `make test-vllm` sets it up and runs them",
    "browser": "need Chromium and were left out: `make test-browser` runs them",
}
"""Markers of tests that pyproject.toml deselects, and what to say of them."""


def pytest_terminal_summary(terminalreporter):
    """Says what was left out, and how to run it."""
    left_out = terminalreporter.stats.get("deselected", [])
    for marker, why in NEEDS.items():
        if n := sum(item.get_closest_marker(marker) is not None for item in left_out):
            terminalreporter.write_line(f"{n} tests {why}")


@pytest.fixture(scope="session")
def generated(tmp_path_factory):
    """Generated runs, made for all tests that read them."""
    return Generated(tmp_path_factory)


@pytest.fixture(autouse=True)
def _signals_of_before():
    """An interrupted command ignores signals until its process ends; the next tests do not."""
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
