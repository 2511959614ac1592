"""csv and json: the reports as they are, names of any kind included."""

import csv
import io
import json

import pytest
from database import add, memory_database, us, write_database

HOSTILE = {
    "quotes": """it's "quoted"; DROP TABLE activity; --""",
    "newline": "two\nlines\r\n",
    "html": "<script>alert('x')</script>",
    "path": r"C:\torch\cuda\__init__.py(219): f",
    "escape": "\x1b[2J\x1b]0;owned\x07 \x9b31m",
    "bidi": "abc\u202egnp.exe",
    "wide": "カーネル" * 20,
    "markup": "[bold red]not markup[/] %s {0} $run ?",
    "formula": "=cmd|'/C calc'!A0",
}


def hostile(con, run):
    add(con, "run", run, engine="vllm", engine_version="\x1b[31m0", model="m\x1b[2J" + "x" * 90)
    add(con, "file", run, file_id=0, rank=0, path="a\x1b[2Jb.json", events=9)
    add(con, "ledger", run, file_id=0, reason="bad", skipped=1, example="\x1b[2J")
    step = {"dur_ns": us(900), "busy_ns": us(900), "idle_ns": 0, "start_ns": 0}
    add(con, "step", run, rank=0, step=0, kind="decode", **step)
    for number, name in enumerate(HOSTILE.values()):
        add(con, "kernel", run, name=name, category="gemm", rule="\x1b[2Jrule")
        add(
            con,
            "activity",
            run,
            rank=0,
            activity_id=number,
            name=name,
            category="gemm",
            start_ns=us(100 * number),
            dur_ns=us(100),
            step=0,
        )


@pytest.fixture(scope="module")
def hostile_db(tmp_path_factory):
    return write_database(tmp_path_factory.mktemp("db") / "hostile.duckdb", hostile)


def is_clean(text):
    return all(character.isprintable() for line in text.split("\n") for character in line)


@pytest.mark.parametrize(
    "words",
    [
        ("kernels",),
        ("kernels", "--all"),
        ("kernels", "--why", "o"),
        ("breakdown", "--by", "kernel", "--all"),
        ("steps",),
        ("runs",),
        ("sql", "SELECT name FROM activities"),
        ("sql", "FROM ingest_ledger"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_no_name_reaches_the_terminal_raw(call, hostile_db, words, form):
    result = call(*words, "--format", form, database=hostile_db)
    assert is_clean(result.stdout)
    assert is_clean(result.stderr)
    assert result.stdout


def test_json_keeps_every_name(call, hostile_db):
    found = json.loads(call("kernels", "--format", "json", database=hostile_db).stdout)
    assert {row["name"] for row in found} == set(HOSTILE.values())


def test_csv_shows_control_characters_as_escapes(call, hostile_db):
    text = call("kernels", "--format", "csv", database=hostile_db).stdout
    names = {row["name"] for row in csv.DictReader(io.StringIO(text))}
    assert "two\\nlines\\r\\n" in names
    assert "\\x1b[2J\\x1b]0;owned\\x07 \\x9b31m" in names
    assert {HOSTILE["quotes"], HOSTILE["html"], HOSTILE["path"], HOSTILE["wide"]} <= names


def test_names_in_errors_are_shown_as_escapes(call, hostile_db):
    result = call("breakdown", "no\x1b[2Jrun", database=hostile_db, exit_code=1)
    assert result.stderr.startswith("no\\x1b[2Jrun: no such run in ")


def test_data_is_the_report_unfolded_in_nanoseconds(call):
    text = call("breakdown", "baseline", "--format", "csv").stdout
    found = list(csv.DictReader(io.StringIO(text)))
    assert [row["category"] for row in found[:5]] == [
        "gemm",
        "all_reduce",
        "sampling",
        "copy",
        "index",
    ]
    assert (found[0]["busy_ns"], found[0]["impl"]) == ("600000", "")


def test_json_of_no_rows_is_an_empty_list(call):
    assert json.loads(call("spec", "baseline", "--format", "json").stdout) == []


def test_booleans_and_nulls(call):
    sql = "SELECT true AS t, NULL AS n, 1.5 AS d, 'x' AS s"
    assert call("sql", sql, "--format", "csv").stdout == "t,n,d,s\ntrue,,1.5,x\n"
    row = {"t": True, "n": None, "d": 1.5, "s": "x"}
    assert json.loads(call("sql", sql, "--format", "json").stdout) == [row]


def test_json_holds_no_nan(call):
    found = call("sql", "SELECT 'nan'::DOUBLE AS x", "--format", "json").stdout
    assert json.loads(found, parse_constant=pytest.fail) == [{"x": None}]


def test_names_in_sql_are_data():
    con = memory_database()
    hostile(con, "r")
    names = con.execute("SELECT name FROM kernel_names ORDER BY name").fetchall()
    assert {name for (name,) in names} == set(HOSTILE.values())
