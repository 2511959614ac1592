"""Stragglers of generated runs: pages name rank, steps and reason as the truth has them."""

import csv

import pytest

import tracekit


@pytest.mark.parametrize("dialect", ["ranks8_common_clock", "ranks8_clock_offsets"])
def test_each_straggler_is_found_with_its_reason(ingested, dialect):
    folder, path = ingested(dialect)
    with (folder / "truth" / "stragglers.csv").open() as file:
        truth = {(int(row["step"]), int(row["rank"])): row["side"] for row in csv.DictReader(file)}
    found = {}
    for row in tracekit.open(path).report("comm_ranks", run="r").records():
        if row.n_habit_steps:
            assert row.first_habit_step == row.last_habit_step  # each straggles in one step
            side = "host" if row.host_share >= row.device_share else "device"
            found[row.first_habit_step, row.rank] = side
    assert found == truth
