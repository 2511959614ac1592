"""Collectives of generated runs against the truth beside them: ranks, waits, transfers, sizes."""

import csv
from collections import defaultdict
from fractions import Fraction
from functools import cached_property

import duckdb
import pytest
from generated import dialects

CLOCKS_APART = ("ranks8_clock_offsets", "ranks8_two_hosts")
CLOCK_TOLERANCE_NS = 2_000

EXACT = [
    *("step", "phase", "category", "impl", "is_fused", "group_size"),
    *("bytes", "bytes_source", "dur_ns", "transfer_ns", "match", "channels"),
]
IF_TOLD = ["comm", "seq", "algorithm", "protocol"]
"""Columns that the truth has a word on only where a file tells it."""

BUSBW_FACTOR = {
    "all_reduce": lambda n: Fraction(2 * (n - 1), n),
    "all_gather": lambda n: Fraction(n - 1, n),
    "reduce_scatter": lambda n: Fraction(n - 1, n),
    "all_to_all": lambda n: Fraction(n - 1, n),
}


class Ingested:
    """A generated run: rows of its truth and of the database, each as text by column."""

    def __init__(self, folder, db):
        self.folder, self.db = folder, db

    def truth(self, name):
        with (self.folder / "truth" / f"{name}.csv").open() as file:
            return list(csv.DictReader(file))

    def found(self, query):
        with duckdb.connect(self.db, read_only=True) as con:
            result = con.execute(query)
            columns = [column[0] for column in result.description]
            return [dict(zip(columns, map(text, row), strict=True)) for row in result.fetchall()]

    @cached_property
    def pairs(self):
        """(truth, found) of each call on each rank."""
        found = {place(row): row for row in self.found("FROM collectives")}
        rows = self.truth("collectives")
        assert {place(row) for row in rows} == set(found)
        return [(row, found[place(row)]) for row in rows]


def text(value):
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)


def place(row):
    return row["dp"], row["rank"], row["start_ns"], row["name"]


@pytest.fixture(scope="module")
def read(ingested):
    return lambda dialect: Ingested(*ingested(dialect))


@pytest.fixture(scope="module", params=dialects())
def run(request, read):
    """A dialect and its run, which is read once for all tests: they follow one another."""
    return request.param, read(request.param)


def wrong(pairs, column):
    return [
        (told["step"], told["rank"], told["name"][:40], told[column], seen[column])
        for told, seen in pairs
        if told[column] != seen[column]
    ][:5]


def refuses(told, seen):
    """Whether a call of the step in which a rank lost events is left unmatched, as it may be."""
    return told["step"] == "3" and seen["match"] == "none"


def test_calls_are_the_truth(run):
    dialect, folder = run
    pairs = folder.pairs
    if dialect == "unequal_counts":
        pairs = [(told, seen) for told, seen in pairs if not refuses(told, seen)]
    assert {column: wrong(pairs, column) for column in EXACT} == dict.fromkeys(EXACT, [])
    for column in IF_TOLD:
        assert wrong([pair for pair in pairs if pair[0][column]], column) == []


def test_ranks_of_a_call_are_found_together(run):
    dialect, folder = run
    told_of, found_of = defaultdict(set), defaultdict(set)
    for told, seen in folder.pairs:
        if told["match"] != "none" and not (dialect == "unequal_counts" and refuses(told, seen)):
            told_of[told["collective"]].add(place(told))
            found_of[seen["collective"]].add(place(told))
    assert sorted(map(sorted, told_of.values())) == sorted(map(sorted, found_of.values()))


def test_ends_that_come_too_early_are_counted_of_matched_calls(read):
    """Where a rank lost events, calls that counting paired, and times refused, ended too early."""
    clocks = read("unequal_counts").found("FROM clock_offset")
    assert {(row["n_early_before"], row["n_early_after"]) for row in clocks} == {("0", "0")}


def test_waiting_is_the_truth(run):
    dialect, folder = run
    tolerance = CLOCK_TOLERANCE_NS if dialect in CLOCKS_APART else 0
    for told, seen in folder.pairs:
        if seen["match"] == "none":
            assert seen["wait_ns"] == ""
        else:
            assert abs(int(told["wait_ns"]) - int(seen["wait_ns"])) <= tolerance


def test_last_rank_is_the_truth(run):
    dialect, folder = run
    waits = defaultdict(list)
    for told, seen in folder.pairs:
        if seen["match"] != "none":
            waits[seen["collective"]].append((int(told["wait_ns"]), told["is_last"], seen))
    for call in waits.values():
        first, second = sorted(wait for wait, _, _ in call)[:2]
        if dialect in CLOCKS_APART and second - first <= 2 * CLOCK_TOLERANCE_NS:
            continue  # too near for clocks this far apart
        assert [is_last == "1" for _, is_last, _ in call] == [
            seen["wait_ns"] == "0" for _, _, seen in call
        ]


def test_bandwidth_is_the_formula(run):
    _, folder = run
    for told, seen in folder.pairs:
        if not told["bytes"]:
            assert seen["algbw_gb_per_s"] == seen["busbw_gb_per_s"] == ""
        elif seen["match"] == told["match"]:
            algbw = Fraction(int(told["bytes"]), int(told["transfer_ns"] or told["dur_ns"]))
            assert float(seen["algbw_gb_per_s"]) == pytest.approx(float(algbw), rel=1e-12)
            if told["group_size"]:
                busbw = algbw * BUSBW_FACTOR[told["category"]](int(told["group_size"]))
                assert float(seen["busbw_gb_per_s"]) == pytest.approx(float(busbw), rel=1e-12)


def test_order_within_a_communicator_follows_the_clock(run):
    _, folder = run
    by_rank = defaultdict(list)
    for row in folder.found("FROM collectives ORDER BY start_ns"):
        by_rank[row["dp"], row["rank"], row["comm"]].append(int(row["seq"]))
    for numbers in by_rank.values():
        assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("dialect", CLOCKS_APART)
def test_offsets_of_clocks_are_found(read, dialect):
    run = read(dialect)
    told = {row["rank"]: int(row["offset_ns"]) for row in run.truth("clocks")}
    found = {row["rank"]: int(row["offset_ns"]) for row in run.found("FROM clock_offset")}
    assert len(found) == len(told) == 8
    middle = sum(found[rank] - told[rank] for rank in told) / 8
    for rank in told:
        assert abs(found[rank] - told[rank] - middle) <= CLOCK_TOLERANCE_NS


def test_clocks_that_agree_are_left_alone(run):
    dialect, folder = run
    if dialect not in CLOCKS_APART:
        assert folder.found("FROM clock_offset WHERE is_applied") == []


def test_model_time_is_that_of_the_logged_table(read):
    pairs = read("nccl_log_graphs").pairs
    logged = [(told, seen) for told, seen in pairs if told["model_ns"]]
    assert len(logged) > 100
    for told, seen in logged:
        assert abs(int(told["model_ns"]) - int(seen["model_ns"])) <= 1


def test_late_launch_shows_as_a_device_with_nothing_to_do(read):
    run = read("ranks8_common_clock")
    starved = {
        (row["step"], row["rank"]): int(row["starved_ns"])
        for row in run.found(
            "SELECT step, rank, arg_min(starved_ns, start_ns) AS starved_ns FROM collectives"
            " WHERE phase = 'forward' AND category = 'all_reduce' GROUP BY ALL"
        )
    }
    for straggler in run.truth("stragglers"):
        mine = starved[straggler["step"], straggler["rank"]]
        assert (mine > 100_000) == (straggler["side"] == "host")
