"""Torn logs: nothing is read that was not written, and what is lost is counted."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from readers.nccl_made import (
    TABLES,
    Reader,
    in_blocks,
    in_lines,
    in_pieces,
    processes,
    rows,
)

SCHEMA = (Path(__file__).parents[2] / "tracekit" / "schema.sql").read_text()
STAMP = "[2026-03-04 05:06:07.080910 +0000] "
FOREIGN = "INFO 03-04 05:06:07 [loader.py:88] Loading weights took 4.20 seconds\n"


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    return Reader(tmp_path_factory.mktemp("logs"), SCHEMA)


def records(con):
    """All rows by table; what only other lines tell of a call (its rank) left out."""
    found = Counter()
    for table, columns in TABLES.items():
        names = [name for name in columns.replace(",", "").split() if name not in OF_OTHER_LINES]
        found.update((table, *row) for row in rows(con, table, ", ".join(names)))
    return found


OF_OTHER_LINES = {"rank", "n_nodes", "comm_id"}


def cut_lines(texts, random):
    lines = in_lines(texts, random).splitlines(keepends=True)
    for i in random.sample(range(len(lines)), 12):
        lines[i] = lines[i][: random.randrange(1, len(lines[i]))] + "\n"
    return "".join(lines)


def cut_ends(texts, random):
    whole = in_lines(texts, random)
    return whole[random.randrange(len(whole) // 3) : -random.randrange(1, len(whole) // 3)]


def small_blocks(texts, random):
    return in_blocks(texts, random, size=random.randrange(30, 900))


def foreign(texts, random):
    whole = in_lines(texts, random)
    for _ in range(10):
        at = random.randrange(len(whole))
        whole = whole[:at] + FOREIGN + whole[at:]
    return whole


def lost_feeds(texts, random):
    lines = in_lines(texts, random).splitlines()
    return "".join(line + random.choice(["\n"] * 9 + [""]) for line in lines)


def ragged(texts, random):
    """Pieces of any length."""
    parts = []
    for text in texts:
        cuts = sorted(random.sample(range(len(text)), 25))
        parts.append([text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)])
    order = [i for i, one in enumerate(parts) for _ in one]
    random.shuffle(order)
    queues = [iter(one) for one in parts]
    return "".join(next(queues[i]) for i in order)


MUTATIONS = [cut_lines, cut_ends, in_blocks, small_blocks, in_pieces, foreign, lost_feeds, ragged]


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutate: mutate.__name__)
def test_no_record_is_invented(read, mutate):
    for seed in range(300 // len(MUTATIONS) + 1):
        random = Random(seed)
        texts = [one.text for one in processes(random, stamp=random.choice(["", STAMP]))]
        said = records(read(in_lines(texts, Random(seed))))
        found = records(read(mutate(texts, random)))
        assert not found - said, f"seed {seed}"
