"""Which Python a command runs."""

import pytest

from tracekit.collectors.context.interpreter import interpreter_of
from tracekit.errors import CaptureError

LONG = "#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n' '''\nimport vllm\n"


def program(folder, text):
    path = folder / "vllm"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("#!/opt/v/bin/python3.11\nimport vllm", ("/opt/v/bin/python3.11",)),
        ("#! /usr/bin/env python3 \n", ("/usr/bin/env", "python3")),
        (LONG.format(python="/long/python"), ("/long/python",)),
        (LONG.format(python='"/with space/python"'), ("/with space/python",)),
        ("#!/bin/bash\nexec something", ("python",)),
        ("\x7fELF", ("python",)),
    ],
)
def test_the_first_lines_of_a_script_name_it(tmp_path, text, python):
    assert interpreter_of([program(tmp_path, text), "serve"], 0, {}) == python


def test_a_module_is_run_by_what_stands_before_it():
    command = ["numactl", "-C", "0", "/v/bin/python", "-m", "vllm.entrypoints.openai.api_server"]
    assert interpreter_of(command, 5, {}) == ("numactl", "-C", "0", "/v/bin/python")


def test_a_program_on_the_path_of_the_environment_is_found(tmp_path):
    program(tmp_path, "#!/v/python\n")
    assert interpreter_of(["vllm", "serve"], 0, {"PATH": str(tmp_path)}) == ("/v/python",)


def test_what_a_wrapper_finds_by_itself_is_asked_through_it():
    assert interpreter_of(["uv", "run", "vllm"], 2, {"PATH": ""}) == ("uv", "run", "python")


def test_a_program_that_is_not_there_is_told():
    with pytest.raises(CaptureError, match="vllm: no such program; "):
        interpreter_of(["vllm", "serve"], 0, {"PATH": "/nowhere"})
