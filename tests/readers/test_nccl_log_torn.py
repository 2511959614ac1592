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
    losses,
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
    for i in random.sample(range(len(lines)), len(lines) // 20):
        lines[i] = lines[i][: random.randrange(1, len(lines[i]))] + "\n"
    return "".join(lines)


def cut_ends(texts, random):
    whole = in_lines(texts, random)
    return whole[random.randrange(len(whole) // 3) : -random.randrange(1, len(whole) // 3)]


def small_blocks(texts, random):
    return in_blocks(texts, random, size=random.randrange(30, 900))


def foreign(texts, random):
    whole = in_lines(texts, random)
    for _ in range(whole.count("\n") // 25):
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
        cuts = sorted(random.sample(range(len(text)), text.count("\n") // 2))
        parts.append([text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)])
    order = [i for i, one in enumerate(parts) for _ in one]
    random.shuffle(order)
    queues = [iter(one) for one in parts]
    return "".join(next(queues[i]) for i in order)


MUTATIONS = [cut_lines, cut_ends, in_blocks, small_blocks, in_pieces, foreign, lost_feeds, ragged]


N_SEEDS = 15
RANKS_AND_CALLS = ((4, 40), (4, 360), (16, 100))
"""Of the seeds by turns: 230 lines, or 1,850 of which most are calls; they take as long to read."""

FEW_RANKS = (0, 1, 3, 4)
"""Seeds of four ranks: of 16 ranks' blocks nearly nothing is believed."""


@pytest.fixture(scope="module")
def written(read):
    """Function that gives the texts of a seed's processes, what they say, and its random."""
    said = {}

    def of(seed):
        random = Random(seed)
        size = RANKS_AND_CALLS[seed % len(RANKS_AND_CALLS)]
        made = processes(random, *size, stamp=random.choice(["", STAMP]))
        texts = [one.text for one in made]
        if seed not in said:
            said[seed] = records(read(in_lines(texts, Random(seed))))
        return texts, said[seed], random

    return of


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutate: mutate.__name__)
def test_no_record_is_invented(read, written, mutate):
    for seed in range(N_SEEDS):
        texts, said, random = written(seed)
        found = records(read(mutate(texts, random)))
        assert not found - said, f"seed {seed}"


@pytest.mark.parametrize("mutate", [cut_lines, in_blocks, foreign], ids=lambda one: one.__name__)
def test_most_of_what_is_whole_is_read(read, written, mutate):
    n_said = n_found = 0
    for seed in FEW_RANKS:
        texts, said, random = written(seed)
        n_said += sum(n for record, n in said.items() if record[0] == "nccl_call")
        n_found += len(rows(read(mutate(texts, random)), "nccl_call"))
    assert n_found > 0.9 * n_said


def call(pid, comm, count=64):
    return (
        f"box:{pid}:{pid} [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x7f0000 recvbuff 0x7f0000 "
        f"count {count} datatype 9 op 0 root 0 comm {comm} [nranks=2] stream {comm[:-2]}f0\n"
    )


ONE, OTHER = call(11, "0x55a010"), call(22, "0x55b020", 96)


@pytest.mark.parametrize("name", ["r", "AllRe", "ReduceScat", "Alduce"])
@pytest.mark.parametrize("prefix", ["", "(Worker pid=7) "])
def test_a_name_that_no_call_has_is_a_torn_one(read, name, prefix):
    con = read(prefix + ONE + prefix + ONE.replace("AllReduce", name) + prefix + ONE)
    assert rows(con, "nccl_call", "collective") == [("AllReduce",)] * 2
    assert losses(con) == {"torn NCCL line": 1}


def test_a_choice_of_a_collective_that_is_none_is_a_torn_one(read):
    whole = choice(11, 128) + CHANNELS
    con = read(whole + whole.replace("AllReduce", "AllRe") + whole)
    assert rows(con, "nccl_tuning", "category") == [("all_reduce",)] * 2
    assert losses(con) == {"torn NCCL line": 1}


def begun(comm, what):
    said = f"comm {comm} rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1000 commId 0x5c1a90"
    return f"box:11:11 [0] NCCL INFO {said} - Init {what}\n"


@pytest.mark.parametrize("comms", [("0x55a010", "0x510"), ("0x510", "0x55a010")])
def test_a_pointer_that_lost_digits_is_no_second_communicator(read, comms):
    first, second = comms
    con = read(begun(first, "START") + begun(second, "COMPLETE") + ONE)
    assert rows(con, "nccl_comm", "comm") == [("0x55a010",)]
    assert losses(con) == {"communicator whose lines contradict": 1}


def test_a_tail_is_put_to_the_one_head_that_it_completes(read):
    con = read(ONE * 3 + OTHER * 3 + ONE[:120] + OTHER + ONE[120:] + OTHER)
    assert Counter(rows(con, "nccl_call", "pid, n_elements")) == {(11, 64): 4, (22, 96): 5}
    assert losses(con) == {}


def test_a_tail_that_two_heads_could_have_is_nobodys(read):
    third = call(33, "0x55c030", 32)
    torn = ONE[:90] + OTHER[:90] + third + ONE[90:] + OTHER[90:]
    con = read(ONE * 3 + OTHER * 3 + third * 3 + torn)
    counts = {(11, 64): 3, (22, 96): 3, (33, 32): 4}
    assert Counter(rows(con, "nccl_call", "pid, n_elements")) == counts
    assert losses(con)["torn NCCL line"] == 4


def test_a_head_and_a_tail_of_two_processes_make_no_call(read):
    con = read(ONE * 3 + OTHER * 3 + OTHER[:90] + ONE[:90] + OTHER[90:] + ONE[90:])
    assert Counter(rows(con, "nccl_call", "pid, n_elements")) == {(11, 64): 3, (22, 96): 3}
    assert losses(con)["NCCL call whose line may be two joined"] == 1


def test_equal_pointers_of_two_processes_are_not_believed_once_a_line_is_torn(read):
    other = call(22, "0x55a010", 96)
    torn = other[:90] + ONE[:90] + other[90:] + ONE[90:]
    con = read(ONE * 3 + other * 3 + torn + ONE + other)
    assert Counter(rows(con, "nccl_call", "pid, n_elements")) == {(11, 64): 3, (22, 96): 3}


def test_a_line_torn_in_a_log_of_one_process_costs_that_line_alone(read):
    con = read(ONE * 3 + ONE[:90] + FOREIGN + ONE[90:] + ONE * 3)
    assert len(rows(con, "nccl_call")) == 6


def test_a_warning_that_begins_within_a_call_leaves_no_short_stream(read):
    warning = "\nbox:22:22 [0] net.cc:1 NCCL WARN bad\n"
    con = read(ONE * 3 + OTHER * 3 + ONE[:-3] + warning + ONE[-3:])
    assert Counter(rows(con, "nccl_call", "pid")) == {(11,): 3, (22,): 3}
    assert losses(con) == {"NCCL call whose line may be cut": 1}


def choice(pid, n_bytes):
    return f"box:{pid}:{pid} [0] NCCL INFO AllReduce: {n_bytes} Bytes -> Algo RING proto LL "


CHANNELS = "channel{Lo..Hi}={0..3}\n"


@pytest.mark.parametrize(("n", "kept"), [(1, []), (2, [(22, 256), (22, 256)])])
def test_a_choice_that_may_be_two_joined_has_to_be_said_twice(read, n, kept):
    before = (
        "box:22:22 [0] NCCL INFO Connected all rings\nbox:11:11 [0] NCCL INFO Connected all rings\n"
    )
    con = read(before * 3 + choice(11, 128) + "\n" + (choice(22, 256) + CHANNELS) * n)
    assert rows(con, "nccl_tuning", "pid, bytes") == kept
    assert losses(con) == {"torn NCCL line": 1}


def test_a_choice_before_any_tear_is_believed_at_once(read):
    before = (
        "box:22:22 [0] NCCL INFO Connected all rings\nbox:11:11 [0] NCCL INFO Connected all rings\n"
    )
    con = read(before * 3 + choice(22, 256) + CHANNELS + choice(11, 128) + "\n")
    assert rows(con, "nccl_tuning", "pid, bytes") == [(22, 256)]


def test_a_tail_is_not_put_to_a_head_whose_process_has_gone_on(read):
    both = (ONE + OTHER) * 3
    con = read(both + ONE[:120] + choice(11, 128) + CHANNELS + ONE[120:] + OTHER)
    assert Counter(rows(con, "nccl_call", "pid")) == {(11,): 3, (22,): 4}
