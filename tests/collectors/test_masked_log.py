"""What a program prints: masked before it is in the file, all of it there when it is asked for."""

import subprocess
import sys
import time

import pytest

from tracekit.collectors.process.masked_log import MaskedLog
from tracekit.errors import CaptureError

KNOWN = frozenset(["planted-secret"])


def printing(log, code):
    program = subprocess.Popen(
        [sys.executable, "-u", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    log.read(program.stdout)
    return program


def ended(program, log):
    program.stdin.close()
    program.wait()
    log.close(10)


def test_a_secret_printed_in_two_pieces_is_masked(tmp_path):
    log = MaskedLog(tmp_path / "l" / "server.log", KNOWN)
    code = "import sys, time\nfor part in 'is plan', 'ted-secret!\\n': "
    code += "sys.stdout.write(part); sys.stdout.flush(); time.sleep(0.1)"
    ended(printing(log, code), log)
    assert log.path.read_bytes() == b"is ***!\n"


def test_the_last_line_needs_no_end_and_bytes_stay_as_they_are(tmp_path):
    log = MaskedLog(tmp_path / "log", KNOWN)
    ended(printing(log, r"import os; os.write(1, b'\xff\x80 a\n\rplanted-secret')"), log)
    assert log.path.read_bytes() == b"\xff\x80 a\n\r***"


def test_a_progress_bar_shows_before_its_line_ends(tmp_path):
    log = MaskedLog(tmp_path / "log", KNOWN)
    program = printing(log, r"import os, sys; os.write(1, b'10 %\r20 %\r'); sys.stdin.read()")
    while not log.path.stat().st_size:
        time.sleep(0.01)
    assert log.path.read_bytes() == b"10 %\r20 %\r"
    ended(program, log)


def test_its_size_counts_all_that_was_printed_before(tmp_path):
    log = MaskedLog(tmp_path / "log", KNOWN)
    code = (
        "import sys\nfor line in sys.stdin: print('x' * int(line)); print('done', file=sys.stderr)"
    )
    program = subprocess.Popen(
        [sys.executable, "-u", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    log.read(program.stdout)
    total = 0
    for length in (1, 50_000, 7, 60_000):
        program.stdin.write(b"%d\n" % length)
        program.stdin.flush()
        program.stderr.readline()
        total += length + 1
        assert log.size() == total
    ended(program, log)
    program.stderr.close()


def test_a_line_without_end_does_not_fill_the_memory(tmp_path):
    log = MaskedLog(tmp_path / "log", KNOWN)
    ended(printing(log, "import os\nfor _ in range(40): os.write(1, b'x' * 50000)"), log)
    assert log.path.stat().st_size == 2_000_000


def test_a_full_disk_does_not_stop_the_program_and_is_told(tmp_path):
    (tmp_path / "log").symlink_to("/dev/full")
    log = MaskedLog(tmp_path / "log", KNOWN)
    program = printing(log, "import os\nfor _ in range(9): os.write(1, b'x' * 50000 + b'\\n')")
    ended(program, log)
    assert program.returncode == 0
    with pytest.raises(CaptureError, match="log: No space left on device; make room"):
        log.refuse_incomplete()


def test_a_file_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "l").write_text("no folder")
    with pytest.raises(CaptureError, match="log: .*; make room, or choose another --out"):
        MaskedLog(tmp_path / "l" / "log", KNOWN)


def test_an_output_held_open_by_somebody_else_is_not_waited_for(tmp_path):
    log = MaskedLog(tmp_path / "log", KNOWN)
    code = "import os, time\nif os.fork() == 0: time.sleep(3)\nelse: print('x')"
    program = printing(log, code)
    program.stdin.close()
    program.wait()
    log.close(0.1)
    assert log.path.read_bytes() == b"x\n"
