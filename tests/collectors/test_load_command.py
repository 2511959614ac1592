"""A load command of the user's: what it is given, what is kept, how it ends."""

import json
import sys
import threading
import time
from pathlib import Path

import pytest

from tracekit.collectors.load.command import CommandLoad, load_command
from tracekit.collectors.load.protocol import LoadWindow
from tracekit.collectors.run_folder import RunFolder
from tracekit.errors import CaptureError

NEVER = threading.Event()
KEY = "sk-planted-0123456789"


def window(folder, **changes):
    values = {"url": "http://127.0.0.1:1", "model": "org/m", "name": "profiled", "concurrency": 4}
    return LoadWindow(folder=RunFolder(folder), **(values | changes))


def python(code, *arguments):
    return CommandLoad((sys.executable, "-c", code, *arguments))


def printed(folder):
    return (folder / "logs" / "load_profiled.log").read_text()


def test_words_are_split_as_by_a_shell_but_no_shell_runs():
    assert load_command("echo 'b c' $HOME;d").command == ("echo", "b c", "$HOME;d")


@pytest.mark.parametrize(("text", "message"), [(" ", "no command"), ("a 'b", "quot")])
def test_a_text_that_is_no_command_is_refused(text, message):
    with pytest.raises(CaptureError, match=message):
        load_command(text)


def test_placeholders_are_replaced_and_other_braces_kept(tmp_path):
    code = "import json, sys; print(json.dumps(sys.argv[1:]))"
    words = ["--url={url}/v1", "{model}", "{concurrency}", '{"seed": {x}}']
    python(code, *words).run(window(tmp_path), NEVER)
    told = ["--url=http://127.0.0.1:1/v1", "org/m", "4", '{"seed": {x}}']
    assert json.loads(printed(tmp_path)) == told


def test_a_model_named_like_a_placeholder_stays_as_it_is(tmp_path):
    python("import sys; print(sys.argv[1])", "{model}").run(window(tmp_path, model="{url}"), NEVER)
    assert printed(tmp_path) == "{url}\n"


def test_the_environment_tells_the_window(tmp_path):
    code = "import os; print(*(os.environ[f'TRACEKIT_{n}'] for n in ('URL', 'MODEL', 'WINDOW',"
    python(code + " 'CONCURRENCY')))").run(window(tmp_path), NEVER)
    assert printed(tmp_path) == "http://127.0.0.1:1 org/m profiled 4\n"


def test_the_summary_has_the_times_of_the_command_and_no_counts(tmp_path):
    before = time.time_ns()
    summary = python("").run(window(tmp_path), NEVER)
    assert before <= summary.start_ns < summary.start_ns + summary.dur_ns <= time.time_ns()
    assert (summary.n_requests, summary.n_tokens) == (None, None)


def test_what_it_prints_on_either_stream_is_kept(tmp_path):
    code = r"import os; os.write(1, b'out\xff\r'); os.write(2, b'err')"
    python(code).run(window(tmp_path), NEVER)
    assert (tmp_path / "logs" / "load_profiled.log").read_bytes() == b"out\xff\rerr"


def test_secrets_that_it_prints_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "planted-in-the-environment")
    code = "import os, sys; print(sys.argv, os.environ['OPENAI_API_KEY'], 'key', sys.argv[-1])"
    load = python(code, "--header", "Authorization: Bearer planted-in-arguments", KEY)
    load.run(window(tmp_path, api_key=KEY), NEVER)
    assert "--header" in printed(tmp_path)
    assert "planted" not in printed(tmp_path)


def test_a_failing_command_shows_its_last_lines(tmp_path):
    code = (
        "import sys; print('first', *range(9), sep='\\n', flush=True); sys.exit('no such dataset')"
    )
    with pytest.raises(CaptureError) as raised:
        python(code).run(window(tmp_path), NEVER)
    told = str(raised.value)
    assert "exit code 1 in window profiled: " in told
    assert "8 | no such dataset" in told
    assert "first" not in told


def test_a_command_that_a_signal_ended_failed(tmp_path):
    with pytest.raises(CaptureError, match="ended by signal 9 .* it printed nothing"):
        python("import os; os.kill(os.getpid(), 9)").run(window(tmp_path), NEVER)


def test_a_program_that_is_not_there_is_told(tmp_path):
    with pytest.raises(CaptureError, match="no-such-program: cannot be started: No such file"):
        CommandLoad(("no-such-program",)).run(window(tmp_path), NEVER)


def test_a_log_that_cannot_be_written_fails_the_load(tmp_path):
    (tmp_path / "logs").write_text("a file where a folder should be")
    with pytest.raises(CaptureError, match="load_profiled.log: "):
        python("print('a')").run(window(tmp_path), NEVER)


def test_a_full_disk_fails_the_load_though_the_command_ends_well(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "load_profiled.log").symlink_to("/dev/full")
    with pytest.raises(CaptureError, match="load_profiled.log: No space left on device"):
        python("print('a')").run(window(tmp_path), NEVER)


CHILD = "import time; time.sleep(60)"
PARENT = f"""
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN if 'stubborn' in sys.argv else signal.SIG_DFL)
child = subprocess.Popen([sys.executable, '-c', {CHILD!r}])
print(child.pid, flush=True)
time.sleep(0 if 'brief' in sys.argv else 60)
"""


def is_alive(pid):
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def stop_once_printed(folder, stop):
    while not (folder / "logs").exists() or not printed(folder):
        time.sleep(0.01)
    stop.set()


@pytest.mark.parametrize("manner", ["polite", "stubborn"])
def test_a_stop_ends_the_command_and_its_children(tmp_path, manner, monkeypatch):
    monkeypatch.setattr("tracekit.collectors.load.command.GRACE_S", 0.3)
    stop = threading.Event()
    threading.Thread(target=stop_once_printed, args=(tmp_path, stop)).start()
    with pytest.raises(CaptureError, match="stopped in window profiled"):
        python(PARENT, manner).run(window(tmp_path), stop)
    assert not is_alive(int(printed(tmp_path)))


def test_a_child_that_outlives_the_command_is_ended(tmp_path):
    python(PARENT, "brief").run(window(tmp_path), NEVER)
    assert not is_alive(int(printed(tmp_path)))


def test_a_program_that_is_not_there_is_refused():
    with pytest.raises(CaptureError, match="^--load: no-such-program: no such program; "):
        load_command("no-such-program --url {url}")
