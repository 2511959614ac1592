"""`tracekit app`: what it starts, and what it says where it cannot."""

import os
import socket
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tracekit.cli import app, main


class Started(Exception):
    """In place of the process that Streamlit would take over."""


@pytest.fixture
def start(monkeypatch):
    """Runs the command; gives the words and the environment of the process it becomes."""

    def instead(program, words, environment):
        assert program == sys.executable
        raise Started(words, environment)

    monkeypatch.setattr(os, "execve", instead)

    def run(*words):
        result = CliRunner().invoke(main, ["app", *words])
        assert isinstance(result.exception, Started), result.output
        return result.exception.args

    return run


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
    return str(number)


def option(words, name):
    return words[words.index(f"--{name}") + 1]


def test_it_listens_on_this_machine_only_unless_told_otherwise(start, port):
    words, _ = start("--port", port)
    assert option(words, "server.address") == "127.0.0.1"
    assert option(words, "server.port") == port
    words, _ = start("--port", port, "--host", "0.0.0.0")
    assert option(words, "server.address") == "0.0.0.0"


def test_it_runs_the_installed_router_and_sends_nothing(start, port):
    words, _ = start("--port", port)
    router = Path(words[words.index("run") + 1])
    assert router.name == "main.py"
    assert (router.parent / "views" / "overview.py").is_file()
    assert option(words, "browser.gatherUsageStats") == "false"


def test_the_browser_is_opened_unless_told_otherwise(start, port):
    assert option(start("--port", port)[0], "server.headless") == "false"
    assert option(start("--port", port, "--no-browser")[0], "server.headless") == "true"


def test_the_database_is_passed_on_whatever_the_folder(start, port, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, environment = start("--port", port, "--db", "mine.duckdb")
    assert environment["TRACEKIT_DB"] == str(tmp_path / "mine.duckdb")


def test_a_taken_port_is_told_before_anything_starts():
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        result = CliRunner().invoke(main, ["app", "--port", str(taken)])
    assert result.exit_code == 1
    assert result.stderr == (
        f"127.0.0.1:{taken}: cannot listen there (Address already in use); "
        "choose another with --port\n"
    )


def test_without_streamlit_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(app, "find_spec", lambda name: None)
    result = CliRunner().invoke(main, ["app"])
    assert result.exit_code == 1
    assert "pip install 'tracekit-llm[app]'" in result.stderr
