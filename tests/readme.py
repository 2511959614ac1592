"""Commands of the README, for the tests that run them: what they run is what the page says today.

Each has a name here; a test compares them with all that the page has. Those with their output below
them are not among these: tests/test_docs.py runs them and compares the output.
"""

import re
import shlex
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text()
PROGRAMS = ("tracekit ", "vllm ", "pip ", "with tracekit", "--load ")


def commands():
    """Every command of the page: of its blocks, and within its lines."""
    text = re.sub(
        r"```(console|python)\n.*?```|<!-- \w+ -->.*?<!-- end -->", "", README, flags=re.S
    )
    blocks = re.findall(r"```sh\n(.*?)```", text, re.S)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    lines += re.findall(r"^    (make \w+)", text, re.M)
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    lines += [span for span in re.findall(r"`([^`]+)`", text) if span.startswith(PROGRAMS)]
    return [" ".join(line.split()) for line in lines]


def capture_options():
    """Every option of `tracekit capture` that the page explains."""
    section = README.partition("## Capture your server")[2].partition("\n## ")[0]
    return set(re.findall(r"`(--[a-z-]+)", section))


def words(command, after_capture=(), behind=(), **places):
    """The words of a command; each of `places`, such as MODEL or DIR, is replaced.

    after_capture: options for `tracekit capture`. behind: what follows the last word.
    """
    for place, value in places.items():
        command = re.sub(rf"\b{place}\b", lambda _, value=value: str(value), command)
    found = shlex.split(command)
    if found[:2] == ["tracekit", "capture"]:
        found[2:2] = after_capture
    return [str(word) for word in (*found, *behind)]


def _with(text):
    (found,) = [command for command in commands() if text in command]
    return found


BASELINE = _with("--run baseline")
DRAFT = _with("--run draft")
LOAD = _with("vllm bench serve")
ATTACH = _with("--url")
SERVER = _with("--profiler-config")
SGLANG = _with("sglang")
TORCH = _with("torchrun")
PROFILE = _with("tracekit.profile")
INGEST = _with("tracekit ingest tracekit-runs")
CHECK_DRAFT = _with("check-draft")
DOCTOR = "tracekit doctor"
RUN_BY_TESTS = {
    *(BASELINE, DRAFT, LOAD, ATTACH, SERVER, SGLANG, TORCH, PROFILE, INGEST),
    *(CHECK_DRAFT, DOCTOR),
}

NEED_NO_TEST = {
    "make demo",  # .ci/run
    "make test",  # .ci/run
    "pip install .",  # tests/test_packaging.py
    "tracekit capture --run NAME --",  # stands before the commands above
    "tracekit app",  # tests/cli/test_app.py, tests/browser
    "tracekit ingest",  # of the blocks with output
    "tracekit COMMAND --help",  # tests/cli/test_errors.py, for each command
}
