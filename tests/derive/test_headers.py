"""Every SQL file of derive/ says what it makes, and runs."""

import re
from importlib.resources import files

import pytest

from tracekit import derive

FOLDER = files("tracekit.derive")
SQL = {
    path.relative_to(FOLDER).with_suffix("").as_posix(): path.read_text()
    for path in FOLDER.rglob("*.sql")
}
MAKES = r"^(?:CREATE TEMP (?:TABLE|MACRO|VIEW)|INSERT INTO|UPDATE) (\w+)"


def test_every_file_runs():
    assert sorted(SQL) == sorted(derive.ORDER)


@pytest.mark.parametrize("name", sorted(SQL))
def test_the_header_names_what_the_file_makes(name):
    header = SQL[name].partition("\n\n")[0]
    said = re.search(r"^-- Makes: (.+)\.$", header, re.MULTILINE)
    assert header.startswith("-- ")
    assert set(said[1].split(", ")) == set(re.findall(MAKES, SQL[name], re.MULTILINE))


@pytest.mark.parametrize("name", sorted(SQL))
def test_lines_fit_a_screen(name):
    assert max(map(len, SQL[name].splitlines())) <= 110
