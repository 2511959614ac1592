"""Every SQL file of derive/ says what it makes, and runs."""

import re
from importlib.resources import files

import pytest

from tracekit import derive

SQL = {
    entry.name.removesuffix(".sql"): entry.read_text()
    for entry in files("tracekit.derive").iterdir()
    if entry.name.endswith(".sql")
}
MAKES = r"^(?:CREATE TEMP (?:TABLE|MACRO|VIEW)|INSERT INTO|UPDATE) (\w+)"


def test_every_file_runs():
    assert sorted(SQL) == sorted(derive.ORDER)


@pytest.mark.parametrize("stem", sorted(SQL))
def test_the_header_names_what_the_file_makes(stem):
    header = SQL[stem].partition("\n\n")[0]
    said = re.search(r"^-- Makes: (.+)\.$", header, re.MULTILINE)
    assert header.startswith("-- ")
    assert set(said[1].split(", ")) == set(re.findall(MAKES, SQL[stem], re.MULTILINE))


@pytest.mark.parametrize("stem", sorted(SQL))
def test_lines_fit_a_screen(stem):
    assert max(map(len, SQL[stem].splitlines())) <= 110
