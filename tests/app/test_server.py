"""The server of the dashboard, as the command starts it."""

import re
import signal
import subprocess
import sys
import time

import httpx
import pytest
from dashboard import APP
from free_port import free_port
from serving import is_healthy

from tracekit.app.assets import ROOT


@pytest.fixture(scope="module")
def server(db):
    """Its process and address."""
    port = free_port()
    words = [sys.executable, "-m", "tracekit", "app", "--no-browser", "--port", str(port)]
    process = subprocess.Popen([*words, "--db", str(db)], stderr=subprocess.PIPE, text=True)
    try:
        while not is_healthy(f"http://127.0.0.1:{port}/_stcore/health"):
            assert process.poll() is None
            time.sleep(0.05)
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.kill()


@pytest.fixture
def get(server):
    """Asks the server for a path."""
    with httpx.Client(base_url=server[1], trust_env=False) as client:
        yield client.get


def test_what_the_page_names_is_served_whole_and_for_good(get):
    names = re.findall(r'(?:src|href)="\.(/static/[^"]+)"', get("/step").text)
    scripts = [name for name in names if name.endswith("js")]
    for name in [*scripts[:3], *(name for name in names if name.endswith("woff2"))]:
        answer = get(name)
        assert answer.content == (ROOT / name[1:]).read_bytes()
        assert "immutable" in answer.headers["cache-control"]
    assert "javascript" in get(scripts[0]).headers["content-type"]


def test_our_styles_are_behind_streamlits_and_asked_for_each_time(get):
    (name,) = re.findall(r'href="\.(/static/css/[^"]+)"', get("/step").text)
    answer = get(name)
    assert answer.content.startswith((ROOT / name[1:]).read_bytes())
    assert answer.content.endswith((APP / "focus.css").read_bytes())
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/", "/overview", "/step", "/sql"])
def test_the_page_of_a_view_tells_the_client_where_the_server_is(get, path):
    answer = get(path)
    head = answer.text.partition("<head>")[2]
    assert head.startswith("<script>window.__streamlit = {")
    assert head.index("__streamlit") < head.index('type="module"')
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/static/no.js", "/static/%2e%2e/%2e%2e/__init__.py"])
def test_nothing_else_is_served_from_there(get, path):
    answer = get(path)
    assert answer.status_code >= 400 or answer.headers["content-type"].startswith("text/html")


def test_it_says_one_line_and_ends_by_an_interrupt(server):
    process, _ = server
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 0
    assert said.endswith("until Ctrl-C\n")
    assert len(said.splitlines()) == 1
