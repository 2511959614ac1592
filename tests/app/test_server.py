"""The server of the dashboard, as the command starts it."""

import signal
import subprocess
import sys
import time

from free_port import free_port
from serving import is_healthy


def test_it_says_one_line_and_ends_by_an_interrupt(db):
    port = free_port()
    words = [sys.executable, "-m", "tracekit", "app", "--no-browser", "--port", str(port)]
    process = subprocess.Popen([*words, "--db", str(db)], stderr=subprocess.PIPE, text=True)
    try:
        while not is_healthy(f"http://127.0.0.1:{port}/_stcore/health"):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0
    assert said.endswith("until Ctrl-C\n")
    assert len(said.splitlines()) == 1
