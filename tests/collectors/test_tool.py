"""Tools of the system that are missing, fail, hang, or write without end."""

import pytest
from fake_tools import FAILING, HANGING

from tracekit.collectors.process import tool
from tracekit.collectors.process.tool import ask


def test_output_of_a_tool(tools):
    tools.put("x", 'echo "$1 $LC_ALL"; echo noise >&2')
    assert ask(["x", "hello"]) == tool.Answer("hello C\n")


def test_a_tool_that_is_not_there(tools):
    answer = ask(["x"])
    assert not answer.is_found
    assert answer.problem == "not found"


def test_a_tool_that_is_no_program(tools):
    tools.put("x", "")
    (tools.folder / "x").write_bytes(b"\x00\x01")
    assert ask(["x"]).problem.startswith("cannot be started: ")


def test_a_tool_that_fails_says_why_on_its_first_line(tools):
    tools.put("x", FAILING)
    answer = ask(["x"])
    assert answer.problem == (
        "exit code 18: Failed to initialize NVML: Driver/library version mismatch"
    )


def test_a_tool_that_hangs_is_ended(tools):
    tools.put("x", f"echo begun; {HANGING}")
    answer = ask(["x"], timeout_s=0.5)
    assert answer.problem == "no answer in 0.5 s"
    assert answer.is_late
    assert answer.text == "begun\n"
    assert not tools.is_running()


def test_a_tool_that_closes_its_output_and_goes_on_is_ended(tools):
    tools.put("x", f"exec >&-; {HANGING}")
    assert ask(["x"], timeout_s=0.5).is_late
    assert not tools.is_running()


def test_a_tool_that_leaves_a_child_with_its_output_does_not_keep_us(tools):
    tools.put("x", "sleep 1000 & echo done")
    assert ask(["x"], timeout_s=0.5).text == "done\n"


def test_a_tool_that_writes_without_end_is_ended(tools, monkeypatch):
    monkeypatch.setattr(tool, "MAX_BYTES", 1 << 20)
    tools.put("x", 'echo $$ > "$PIDS"; while :; do echo y; done')
    assert ask(["x"]).problem == "wrote more than 1 MB"
    assert not tools.is_running()


@pytest.mark.parametrize("output", [r"\377\376", r"\000"])
def test_output_that_is_no_text_is_text_nevertheless(tools, output):
    tools.put("x", f"printf '{output}'")
    assert isinstance(ask(["x"]).text, str)
