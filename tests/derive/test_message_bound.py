"""How NCCL sends a message, and the bound of its own model."""

import json

import duckdb
import pytest
from database import add, memory_database, write_database
from messages import Calls

KIB = 1024


@pytest.fixture
def calls():
    return Calls()


def sized(calls, size, n=8, **given):
    call = calls.call(1, group_size=n, **given)
    calls.args(call, "allreduce", size // 2, size // 2, group_size=n)
    return call


@pytest.mark.parametrize(
    ("protocol", "ideal_us"),
    [
        ("LL", (20.9, 21.6, 25.4, 32.5, 58.8, 97.1)),
        ("LL128", (49.2, 49.6, 51.6, 55.5, 69.8, 90.6)),
    ],
)
def test_constants_give_the_ideal_times_of_eight_ranks_on_pcie_5(protocol, ideal_us):
    """Source: NCCL's tuning model for two channels of 24 GB/s."""
    found = memory_database().execute(
        "SELECT round((base_ns + 14 * pcie_hop_ns + bytes / (busbw * 8 / 14)) / 1000, 1)"
        " FROM (SELECT *, nccl_busbw(algorithm, protocol, 48, 2, 9) busbw FROM nccl_latencies()),"
        " (SELECT unnest([4, 14, 64, 160, 512, 1024]) * 1024 AS bytes)"
        " WHERE algorithm = 'RING' AND protocol = $1 ORDER BY bytes",
        [protocol],
    )
    assert tuple(us for (us,) in found.fetchall()) == ideal_us


@pytest.mark.parametrize(
    ("n", "algorithm", "us"),
    [
        (8, "RING", (15.0, 40.6, 56.0)),
        (4, "RING", (10.2, 25.4, 28.8)),
        (4, "TREE", (10.4, 21.5, 32.4)),
    ],
)
def test_constants_give_the_latencies_on_nvlink(n, algorithm, us):
    found = memory_database().execute(
        "SELECT round((base_ns + 2 * ($1 - 1) * nvlink_hop_ns) / 1000, 1) FROM nccl_latencies()"
        " WHERE algorithm = $2 ORDER BY protocol",
        [n, algorithm],
    )
    assert tuple(value for (value,) in found.fetchall()) == us


def measured(con, run):
    add(con, "calibration", run, n_ranks=8, bytes=1000, time_ns=100)


def test_macros_work_without_tracekit_in_a_database_of_another_name(tmp_path):
    path = write_database(tmp_path / "x.duckdb", measured)
    with duckdb.connect() as con:
        con.execute("ATTACH $1 AS other (READ_ONLY)", [str(path)])
        found = con.execute("SELECT algbw_gb_per_s, busbw_gb_per_s FROM other.calibrations")
        assert found.fetchall() == [(10.0, 17.5)]


@pytest.mark.parametrize(
    ("grid", "tunings", "told"),
    [
        (None, [("RING", "LL", 2)], ("RING", "LL", 2)),
        (2, [("RING", "LL", 2), ("TREE", "LL", 4)], ("RING", "LL", 2)),
        (8, [("RING", "LL", 2)], (None, None, 8)),
        (2, [("RING", "LL", 2), ("TREE", "LL", 2)], (None, "LL", 2)),
        (2, [], (None, None, 2)),
    ],
)
def test_the_choice_of_the_log_is_that_of_size_and_channels(calls, grid, tunings, told):
    call = sized(calls, 14 * KIB, grid=grid)
    for algorithm, protocol, n_channels in tunings:
        calls.tuning(14 * KIB, algorithm, protocol, n_channels)
    calls.tuning(28 * KIB, "NVLS", "SIMPLE", grid)
    assert calls.messages("algorithm", "protocol", "channels") == {call: told}


def test_custom_kernels_have_no_choice_of_nccl(calls):
    call = sized(calls, 14 * KIB, impl="custom_1stage", grid=2)
    calls.tuning(14 * KIB, n_channels=2)
    assert calls.messages("algorithm", "channels", "model_ns") == {call: (None, None, None)}


@pytest.mark.parametrize(
    ("logged", "n_channels", "is_told"),
    [(1000, 2, True), (8000, 2, False), (8000, None, True), (1000, None, False)],
)
def test_gathered_bytes_are_logged_per_rank_by_versions_with_channels(
    calls, logged, n_channels, is_told
):
    call = calls.call(1, category="all_gather", group_size=8)
    calls.args(call, "_allgather_base", 500, 4000, group_size=8)
    calls.tuning(logged, n_channels=n_channels, category="all_gather")
    assert calls.messages("algorithm") == {call: "RING" if is_told else None}


LINE = {"run": "r", "file_id": 200, "host": "a", "pid": 1}


def communicator(calls, n=8, at_byte=0, n_nodes=1, **given):
    facts = {"comm": hex(at_byte), "rank": 0, "n_ranks": n, "n_nodes": n_nodes, **given}
    calls.insert("nccl_comm", **LINE, at_byte=at_byte, **facts)


def table(calls, at_byte, **rows):
    for name, (latency_us, algbw) in rows.items():
        algorithm, protocol = name.split("_")
        facts = {"category": "all_reduce", "algorithm": algorithm, "protocol": protocol}
        times = {"latency_ns": latency_us * 1000, "algbw_gb_per_s": algbw}
        calls.insert("nccl_model", **LINE, at_byte=at_byte, **facts, **times)


def test_the_logged_table_tells_the_time_of_the_choice(calls):
    communicator(calls)
    table(calls, 1, RING_LL=(20.6, 13.7), RING_LL128=(49.0, 25.2), TREE_LL=(3.0, 0.0))
    chosen, free = sized(calls, 14 * KIB), sized(calls, 28 * KIB)
    calls.tuning(14 * KIB, "RING", "LL128")
    assert calls.messages("model_ns") == {
        chosen: round(49_000 + 14 * KIB / 25.2),
        free: round(20_600 + 28 * KIB / 13.7),
    }


def test_a_table_is_of_the_communicator_before_it(calls):
    communicator(calls, n=8, at_byte=0)
    table(calls, 1, RING_LL=(20.0, 10.0))
    communicator(calls, n=2, at_byte=2)
    table(calls, 3, RING_LL=(8.0, 10.0))
    eight, two, four = (sized(calls, 10_000, n=n) for n in (8, 2, 4))
    assert calls.messages("model_ns") == {eight: 21_000, two: 9_000, four: None}


def test_the_time_logged_with_the_choice_comes_first(calls):
    communicator(calls)
    table(calls, 1, RING_LL=(20.6, 13.7))
    call = sized(calls, 14 * KIB)
    calls.tuning(14 * KIB, "RING", "LL", model_ns=41_250)
    assert calls.messages("model_ns") == {call: 41_250}


def pattern(calls, kind, n_channels, bw):
    facts = json.dumps({"n_channels": str(n_channels), "bw": str(bw), "type": kind})
    note = {"kind": "pattern", "name": "4", "value": "Pattern 4", "facts": facts}
    calls.insert("nccl_note", **LINE, at_byte=1, **note)


@pytest.mark.parametrize(
    ("kind", "n_channels", "bw", "model_us"),
    [
        ("PHB", 2, 24.0, 21.6),
        ("SYS", 2, 24.0, 21.6),
        ("NVL", 12, 20.0, 15.2),
        ("XGMI", 2, 24.0, None),
    ],
)
def test_constants_need_links_that_are_known(calls, kind, n_channels, bw, model_us):
    communicator(calls)
    pattern(calls, kind, n_channels, bw)
    call = sized(calls, 14 * KIB)
    found = calls.messages("model_ns")[call]
    assert (None if found is None else round(found / 1000, 1)) == model_us


def test_without_bandwidth_the_bound_is_the_latency_and_what_any_gpu_can(calls):
    communicator(calls)
    link = {"channel": 0, "from_rank": 0, "to_rank": 1, "transport": "SHM", "detail": "direct"}
    calls.insert("nccl_link", **LINE, at_byte=1, **link)
    call = sized(calls, 14 * KIB)
    assert calls.messages("model_ns") == {call: 20_600 + round(14 * KIB / (282 * 8 / 14))}


@pytest.mark.parametrize("n_nodes", [2, None])
def test_constants_are_of_one_node(calls, n_nodes):
    communicator(calls, n_nodes=n_nodes)
    pattern(calls, "PHB", 2, 24.0)
    call = sized(calls, 14 * KIB)
    assert calls.messages("model_ns") == {call: None}


def test_without_a_log_there_is_no_bound(calls):
    call = sized(calls, 14 * KIB)
    assert calls.messages("model_ns") == {call: None}
