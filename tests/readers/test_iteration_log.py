import pytest

from tracekit.readers.iteration_log import read_iterations
from tracekit.readers.log_lines import MAX_LINE_BYTES

LINE = (
    "{prefix}Iteration({n}): 2 context requests, 7986 context tokens, 14 generation requests, "
    "56 generation tokens, iteration elapsed time: {ms} ms{rest}"
)
ENGINE = "(EngineCore_DP1 pid=9) INFO 07-09 03:15:05 [core.py:359] "
SERVER = "(APIServer pid=7) INFO 11-29 12:03:32 [loggers.py:199] "
COLUMNS = (
    "dp, iteration, n_prefill_reqs, n_prefill_tokens, n_decode_reqs, n_decode_tokens, dur_ns,"
    " is_dummy"
)
LOAD = (2, 7986, 14, 56)


def line(prefix=SERVER, n=15, ms="11.64", rest=""):
    return LINE.format(prefix=prefix, n=n, ms=ms, rest=rest)


def read(folder, text, windows=None):
    folder.read(read_iterations, "server_log", {"server.log": text}, windows)


@pytest.mark.parametrize(
    ("text", "dp", "dur_ns", "is_dummy"),
    [
        (line(ENGINE), 1, 11_640_000, False),
        (line("(EngineCore_0 pid=9) INFO 07-09 03:15:05 [core.py:1] "), 0, 11_640_000, False),
        (line("INFO 07-09 03:15:05 [core.py:359] ", ms="0.07"), 0, 70_000, False),
        (line(f"{SERVER}Engine 003: ", rest=", GPU KV cache usage: 3.1%"), 3, 11_640_000, False),
        (line(f"{ENGINE}Engine 000: ", rest=" (dummy)"), 0, 11_640_000, True),
        (line(rest=" (dummy), CPU KV cache usage: 0.0%"), 0, 11_640_000, True),
        (line(ms="7"), 0, 7_000_000, False),
        (line(rest=", GPU KV cache usage: 1.0%, encoder inputs: 1"), 0, 11_640_000, False),
        (f"\x1b[36m{line()}\x1b[0m\r", 0, 11_640_000, False),
    ],
)
def test_every_spelling_is_read(folder, text, dp, dur_ns, is_dummy):
    read(folder, f"{SERVER}hello\n{text}\n")
    assert folder.rows(f"SELECT {COLUMNS} FROM iteration") == [(dp, 15, *LOAD, dur_ns, is_dummy)]
    assert folder.losses() == {}


def test_lines_belong_to_the_window_they_begin_in(folder):
    text = "".join(f"{line(n=n)}\n" for n in range(6))
    size = len(text) // 6
    windows = [
        {"name": "b", "log": {"path": "server.log", "from_byte": 4 * size, "to_byte": 5 * size}},
        {"name": "a", "log": {"path": "server.log", "from_byte": size, "to_byte": 3 * size - 5}},
    ]
    read(folder, text, windows)
    found = folder.rows("SELECT iteration, window_name, at_byte FROM iteration ORDER BY iteration")
    names = [None, "a", "a", None, "b", None]
    assert found == [(n, name, n * size) for n, name in enumerate(names)]


def test_two_processes_may_write_into_one_line(folder):
    read(folder, line(ENGINE, n=1) + line(ENGINE.replace("DP1", "DP0"), n=2) + "\n")
    assert folder.rows("SELECT dp, iteration FROM iteration ORDER BY ALL") == [(0, 2), (1, 1)]


@pytest.mark.parametrize(
    "bad",
    [
        line()[:120],
        line(ms="-3.0"),
        line(ms="inf"),
        line(ms="9" * 30),
        line(n="9" * 30),
        line().replace("14 gen", "fourteen gen"),
    ],
    ids=["cut", "negative", "inf", "long time", "long number", "words"],
)
def test_garbled_lines_are_counted_and_spoil_no_other(folder, bad):
    read(folder, f"{line()}\n{bad}\n{line(n=16)}\n")
    assert folder.rows("SELECT iteration FROM iteration ORDER BY ALL") == [(15,), (16,)]
    assert folder.losses() == {"iteration log line not understood": 1}
    ((example,),) = folder.rows("SELECT example FROM ledger")
    assert example.startswith(f"byte {len(line()) + 1}: ")


def test_bytes_that_are_no_text_do_not_matter(folder):
    noise = b"\xff\xfe\x00 Iteration( context requests\n" + b"x" * (3 * MAX_LINE_BYTES) + b"\n"
    read(folder, f"{line()}\n".encode() + noise + f"{line(n=16)}\n".encode())
    assert folder.rows("SELECT iteration FROM iteration ORDER BY ALL") == [(15,), (16,)]
    assert folder.losses() == {"iteration log line not understood": 1}


def test_more_lines_than_go_in_at_a_time(folder):
    read(folder, "".join(f"{line(n=n)}\n" for n in range(45_000)))
    query = "SELECT count(*), count(DISTINCT iteration), max(at_byte) > 0 FROM iteration"
    assert folder.rows(query) == [(45_000, 45_000, True)]
