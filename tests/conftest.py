"""What every run of the tests has in common."""


def pytest_terminal_summary(terminalreporter):
    """Says what was left out for want of vLLM and torch, and how to run it."""
    left_out = terminalreporter.stats.get("deselected", [])
    n = sum(item.get_closest_marker("vllm") is not None for item in left_out)
    if n:
        terminalreporter.write_line(
            f"{n} tests need real vLLM and torch and were left out: `make test-vllm` sets both up "
            "and runs them"
        )
