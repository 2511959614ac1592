"""`tracekit app`: what it starts, and what it says where it cannot."""

import json
import os
import socket
import sys

import pytest
from click.testing import CliRunner

from tracekit.cli import app, main


class Started(Exception):
    """In place of the process that the server would take over."""


@pytest.fixture
def start(monkeypatch):
    """Runs the command; gives the settings and the environment of the server it becomes."""

    def instead(program, words, environment):
        assert [program, *words[2:4]] == [sys.executable, "-m", "tracekit.app.server"]
        raise Started(json.loads(words[4]), environment)

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


def test_it_listens_on_this_machine_only_unless_told_otherwise(start, port):
    settings, _ = start("--port", port)
    assert settings["server.address"] == "127.0.0.1"
    assert settings["server.port"] == int(port)
    settings, _ = start("--port", port, "--host", "0.0.0.0")
    assert settings["server.address"] == "0.0.0.0"


def test_it_sends_nothing(start, port):
    assert start("--port", port)[0]["browser.gatherUsageStats"] is False


def test_the_browser_is_opened_unless_told_otherwise(start, port):
    assert start("--port", port)[0]["server.headless"] is False
    assert start("--port", port, "--no-browser")[0]["server.headless"] is True


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


@pytest.mark.parametrize("host", ["999.1.1.1", "192.0.2.1"])
def test_a_host_to_listen_on_that_is_not_here_is_told(host, port):
    result = CliRunner().invoke(main, ["app", "--host", host, "--port", port])
    assert result.exit_code == 1
    assert result.stderr.endswith("choose another with --host\n")


@pytest.mark.parametrize("name", ["missing", "text", "folder"])
def test_a_database_that_is_none_is_told_and_may_come(port, tmp_path, monkeypatch, name):
    monkeypatch.setattr(os, "execve", lambda *words: None)
    (tmp_path / "text").write_text("no database")
    (tmp_path / "folder").mkdir()
    words = ["app", "--port", port, "--db", str(tmp_path / name)]
    result = CliRunner().invoke(main, words)
    first, second = result.stderr.splitlines()
    assert first.startswith(f"{tmp_path / name}: ")
    assert "dashboard at" in second


def test_without_streamlit_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(app, "find_spec", lambda name: None)
    result = CliRunner().invoke(main, ["app"])
    assert result.exit_code == 1
    assert "pip install 'tracekit-llm[app]'" in result.stderr
