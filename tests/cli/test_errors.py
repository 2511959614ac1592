"""What goes wrong, in one line, with the right exit code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from database import join, write_database
from samples import baseline, eagle3

import tracekit
from tracekit.cli import VERBS, choice, main


def stderr_line(result):
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


def test_an_unknown_run_lists_the_runs_nearest_first(call):
    line = stderr_line(call("breakdown", "stalld", exit_code=1))
    assert line.startswith("stalld: no such run in ")
    assert line.endswith("there are: stalled, eagle3, baseline")


def test_a_run_is_needed_where_there_are_several(call):
    line = stderr_line(call("breakdown", exit_code=1))
    assert line.endswith("3 runs in it; name one of: baseline, eagle3, stalled")


def test_a_database_that_is_not_there(call, tmp_path):
    line = stderr_line(call("runs", database=tmp_path / "no.duckdb", exit_code=1))
    assert "no such database; make it with `tracekit ingest PATH" in line


def test_a_file_that_is_no_database(call, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("no database, but long enough")
    assert "not a DuckDB database" in stderr_line(call("runs", database=path, exit_code=1))


def test_a_step_that_is_not_there(call):
    line = stderr_line(call("breakdown", "baseline", "--step", "99", exit_code=1))
    assert line == "baseline: no step 99; it has: 0-3"


@pytest.mark.parametrize("form", ["table", "csv", "json"])
@pytest.mark.parametrize("verb", ["breakdown", "steps", "spec"])
def test_a_rank_that_is_not_there(call, verb, form):
    line = stderr_line(call(verb, "baseline", "--rank", "9", "--format", form, exit_code=1))
    assert line == "baseline: no rank 9; it has: 0-1"


@pytest.mark.parametrize("verb", ["breakdown", "steps", "spec"])
def test_an_engine_that_is_not_there(call, verb):
    line = stderr_line(call(verb, "baseline", "--dp", "1", exit_code=1))
    assert line == "baseline: no data-parallel engine 1; it has: 0"


def test_a_category_that_is_not_there(call):
    line = stderr_line(call("kernels", "baseline", "--category", "gem", exit_code=1))
    assert line == "baseline: no category 'gem'; it has: all_reduce, moe_gemm, unknown"


@pytest.mark.parametrize(
    "words",
    [
        ("breakdown", "baseline", "--kind", "mixed"),
        ("breakdown", "baseline", "--step", "1", "--kind", "decode"),
        ("steps", "baseline", "--kind", "idle"),
        ("kernels", "baseline", "--category", "sampling"),
    ],
    ids=" ".join,
)
def test_what_could_be_there_and_is_not_is_no_error(call, words):
    assert "no " in call(*words).stdout
    assert call(*words, "--format", "json").stdout == "[]\n"


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([3], "3"), ([0, 1, 2], "0-2"), ([5, 0, 1, 7, 8], "0-1, 5, 7-8")],
)
def test_numbers_are_told_in_spans(numbers, text):
    assert choice.spans(numbers) == text


def test_many_spans_are_cut_short():
    assert choice.spans(range(0, 40, 2)) == "0, 2, 4, 6, 8, 10, 12, 14, ..."


def test_a_terminal_that_knows_few_characters(db):
    command = [sys.executable, "-m", "tracekit", "sql", "SELECT 'カ' AS x"]
    environment = {**os.environ, "TRACEKIT_DB": str(db), "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, capture_output=True, env=environment, check=True)
    assert done.stdout == b"x\n\\u30ab\n"


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("nonsense",),
        ("breakdown", "baseline", "--kind", "nonsense"),
        ("breakdown", "baseline", "--rank", "first"),
        ("runs", "--format", "xml"),
        ("kernels", "baseline", "--unknown", "--category", "gemm"),
        ("ingest",),
        ("ingest", "x", "--rank", "-1"),
        ("ingest", "x", "--rank", "2147483648"),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_2(call, words):
    call(*words, exit_code=2)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT nothing FROM steps", "nothing"),
        ("SELECT * FROM read_csv('/etc/passwd')", "disabled"),
    ],
)
def test_a_wrong_query(call, query, said):
    line = stderr_line(call("sql", query, exit_code=1))
    assert said in line
    assert line.endswith("`tracekit schema` lists views and columns")


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM run",
        "CREATE TABLE mine AS SELECT 1",
        "COPY run TO '/tmp/x.csv'",
        "EXPLAIN ANALYZE COPY run TO '/tmp/x.csv'",
        "ATTACH '/tmp/x.duckdb'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
    ],
)
def test_a_query_can_only_read_the_database(call, query):
    line = stderr_line(call("sql", query, exit_code=1))
    assert line.endswith("only a SELECT is run; the database cannot be changed from here")


@pytest.mark.parametrize("query", ["", " ", ";", "/* nothing */"])
def test_an_empty_query(call, query):
    line = stderr_line(call("sql", query, exit_code=1))
    assert line == "query: it is empty; write a SELECT"


def test_more_than_one_query(call):
    line = stderr_line(call("sql", "SELECT 1; SELECT 2", exit_code=1))
    assert line == "query: 2 statements; give one SELECT at a time"
    assert call("sql", "SELECT 1 AS x;").stdout == "x\n1\n"


def test_a_query_from_stdin(call):
    assert call("sql", "-", stdin="SELECT 42 AS answer").stdout == "answer\n    42\n"


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_a_query_that_is_no_text(db, locale):
    command = [sys.executable, "-m", "tracekit", "sql", "-", "--db", str(db)]
    environment = {**os.environ, "LC_ALL": locale}
    done = subprocess.run(command, input=b"select \xff", capture_output=True, env=environment)
    assert done.returncode == 1
    assert done.stderr == b"query: character 8 is not UTF-8; write it anew\n"


def test_a_full_disk_behind_stdout_is_one_line(db):
    command = [sys.executable, "-m", "tracekit", "kernels", "baseline", "--db", str(db)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr == b"stdout: cannot be written: No space left on device; make room\n"


@pytest.mark.parametrize("begins_after_s", [0, 1])
def test_ctrl_c_ends_a_query_that_would_take_days(db, begins_after_s):
    query = "SELECT count(*) FROM range(10000000) AS a CROSS JOIN range(10000000) AS b"
    script = INTERRUPTED.format(begins_after_s=begins_after_s)
    command = [sys.executable, "-c", script, "sql", query, "--db", str(db)]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"Aborted!\n")


INTERRUPTED = """
import os, signal, threading, time
from tracekit import database
from tracekit.cli import main
executed = database._executed
def interrupted(con, *words):
    class Slow:
        interrupt = con.interrupt
        def execute(self, *words):
            time.sleep({begins_after_s})
            return con.execute(*words)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    return executed(Slow(), *words)
database._executed = interrupted
main()
"""


def test_long_results_are_cut_in_tables_only(call):
    result = call("sql", "FROM range(150) AS t(i)")
    assert len(result.stdout.splitlines()) == 1 + 100
    assert result.stderr == "first 100 rows; --format csv or json gives all\n"
    data = call("sql", "FROM range(150) AS t(i)", "--format", "csv")
    assert (len(data.stdout.splitlines()), data.stderr) == (151, "")


def test_an_unknown_relation(call):
    line = stderr_line(call("schema", "stepz", exit_code=1))
    assert line == "stepz: no such view or table; `tracekit schema --tables` lists them"


def test_a_closed_pipe_is_quiet(db):
    command = [sys.executable, "-m", "tracekit", "sql", "FROM range(200000)", "--format", "csv"]
    environment = {**os.environ, "TRACEKIT_DB": str(db)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_pages_do_not_lock_the_database(call, db, tmp_path):
    """Reading and ingesting do not get in each other's way, in one process too."""
    path = write_database(tmp_path / "runs.duckdb", baseline)
    unread = tracekit.open(path).sql("FROM activities")
    join(path, eagle3)
    assert len(unread.fetchall()) == 9
    assert tracekit.open(path).runs() == ["baseline", "eagle3"]


def words_of_verbs():
    for name in sorted(VERBS):
        parts = getattr(main.get_command(None, name), "commands", {})
        yield from ((name, part) for part in parts) if parts else [(name,)]


@pytest.mark.parametrize("words", list(words_of_verbs()), ids=" ".join)
def test_every_verb_has_help_and_a_database(call, words):
    text = call(*words, "--help").stdout
    assert "--db FILE" in text
    assert text.splitlines()[2].endswith(".")


def test_help_needs_no_database_library():
    code = (
        "import sys\n"
        "from tracekit.cli import main\n"
        "try:\n"
        "    main(['breakdown', '--help'])\n"
        "finally:\n"
        "    sys.stderr.write(' '.join(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"duckdb", "rich.progress"}.isdisjoint(done.stderr.split())
