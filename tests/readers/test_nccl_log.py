import gzip
import time
from pathlib import Path
from random import Random

import pytest
from readers import nccl_dialects as dialects
from readers.nccl_made import TABLES, Reader, losses, processes, rows

SCHEMA = (Path(__file__).parents[2] / "tracekit" / "schema.sql").read_text()
CALL = "rank, n_ranks, collective, category, op_count, n_elements, dtype, reduction, root, bytes"
CHOICE = "category, bytes, algorithm, protocol, n_channels, kernel, n_threads, model_ns"
COMM = "comm, comm_id, rank, n_ranks, n_nodes, cuda_device, nvml_device, bus_id, nccl_version"
LINK = "channel, connection, from_rank, to_rank, direction, transport, detail, comm"
NOTE = "kind, name, value"


@pytest.fixture
def read(tmp_path):
    return Reader(tmp_path, SCHEMA)


CALLS = {
    "NCCL_2_18": [
        (1, 2, "ReduceScatter", "reduce_scatter", 0x1F, 512, "float32", "sum", 0, 4096),
    ],
    "NCCL_2_20": [
        (0, 2, "AllReduce", "all_reduce", 2, 81920, "float16", "sum", 0, 163840),
    ],
    "NCCL_2_23": [
        (0, 2, "AllGather", "all_gather", 0, 2048, "bfloat16", None, 0, 8192),
    ],
    "NCCL_2_24": [
        (0, 4, "AllReduce", "all_reduce", 0, 57344, "bfloat16", "avg", 0, 114688),
    ],
    "NCCL_2_27": [
        (3, 8, "AllReduce", "all_reduce", 0, 7168, "bfloat16", "sum", 0, 14336),
    ],
    "NCCL_2_28": [
        (None, 4, "AlltoAll", "all_to_all", 0, 3000, "float8e4m3", None, 0, 12000),
        (None, 4, "Gather", "collective_other", 0, 100, "int32", None, 2, 1600),
    ],
    "NCCL_2_29": [
        (1, 2, "Send", "send_recv", 0, 65536, "uint8", None, 0, 65536),
        (1, 2, "PutSignal", "collective_other", 0, 16, "uint8", None, 0, 16),
    ],
    "NCCL_2_30": [
        (None, None, "AllReduce", "all_reduce", None, 1024, "bfloat16", "sum", 0, 2048),
    ],
    "NCCL_2_32": [
        (0, 2, "Broadcast", "broadcast", 0, 300, "float8e5m2", None, 1, 300),
    ],
    "RCCL": [
        (2, 8, "AllReduce", "all_reduce", 0x9C, 4096, "bfloat16", "sum", 0, 8192),
        (2, 8, "mscclpp_ncclAllReduce", "all_reduce", 0x9D, 4096, "bfloat16", "sum", 0, 8192),
    ],
}
CHOICES = {
    "NCCL_2_20": [(None, 163840, "RING", "LL", None, None, None, 36125)],
    "NCCL_2_23": [("all_gather", 8192, "PAT", "SIMPLE", None, None, None, 20500)],
    "NCCL_2_24": [("all_reduce", 114688, "NVLS_TREE", "SIMPLE", 16, None, None, None)],
    "NCCL_2_27": [("all_reduce", 14336, None, None, 4, "AllReduce_AGxLL_R", 512, None)],
    "NCCL_2_28": [("all_reduce", 2048, None, None, 8, "AllReduce_RSxLD_AGxST", 512, None)],
    "NCCL_2_29": [
        (
            "all_gather",
            4194304,
            None,
            None,
            None,
            "cudaMemcpy; CE synchronization with NVLS",
            None,
            None,
        )
    ],
    "NCCL_2_30": [("all_gather", 65536, None, None, None, "RMA proxy + CE", None, None)],
    "NCCL_2_32": [("broadcast", 300, "RING", "LL", 1, None, None, None)],
}
COMMS = {
    "NCCL_2_18": [("0x8c41f20", "0x6a1c5d02e98b7f44", 1, 2, None, 1, 3, "5e000", "2.18.3")],
    "NCCL_2_20": [("0x561f8be02a90", "0x77aa01b2c3d4e5f6", 0, 2, None, 0, 0, "1a000", None)],
    "NCCL_2_23": [("0x55ce41a07730", None, 0, 2, None, 2, 2, "3d000", None)],
    "NCCL_2_24": [("0x5618d3c0e6b0", "0xe01d8c4b9a276f35", 0, 4, None, 0, 0, "7000", None)],
    "NCCL_2_27": [("0x5577f0a1b3c0", "0x1122aabb3344ccdd", 3, 8, None, 3, 3, "4b000", None)],
    "NCCL_2_29": [("0x5640be11fa70", "0xbeef0102030405aa", 1, 2, None, 1, 1, "c1000", None)],
    "NCCL_2_32": [("0x5611aa20c4f0", "0x5a5a1b1b2c2c3d3d", 0, 2, None, 0, 0, "9000", None)],
    "RCCL": [("0xbc01d40", "0x9f8e7d6c5b4a3921", 2, 8, None, 2, 2, "26000", "2.22.3")],
}
LINKS = {
    "NCCL_2_18": [(1, 0, 1, 0, None, "P2P", "IPC/read", "0x8c41f20")],
    "NCCL_2_24": [(5, 0, 0, 1, None, "P2P", "CUMEM/read", "0x5618d3c0e6b0")],
    "NCCL_2_27": [(0, None, 3, 4, None, "SHM", "direct/direct", "0x5577f0a1b3c0")],
    "NCCL_2_28": [
        (0, 0, 3, 0, "receive", "NET", "IB/1/GDRDMA", None),
        (0, 0, 0, 2, "send", "NET", "IB/0(1)/GDRDMA/Shared", None),
    ],
    "NCCL_2_30": [(1, None, 0, 1, None, "SHM", "direct", None)],
}
NOTES = {
    "NCCL_2_18": [
        ("setting", "NCCL_SHM_DISABLE", "0"),
        ("version", "driver", "12020"),
        ("version", "nccl", "2.18.3"),
        ("other", "Using network", "Socket"),
        ("trees", None, "[0] -1/-1/-1->1->0 [1] -1/-1/-1->1->0"),
        ("connected", None, "all rings"),
    ],
    "NCCL_2_20": [("ring", "00/02", "0 1")],
    "NCCL_2_24": [("connected", None, "all rings")],
    "NCCL_2_27": [
        ("p2p_off", None, "Check P2P Type isAllDirectP2p 0 directMode 0"),
        (
            "warning",
            "transport/net.cc:612",
            "Call to recv from 10.1.2.3<47110> failed : Connection reset by peer",
        ),
        ("backtrace", "misc/socket.cc:58", "3"),
    ],
    "NCCL_2_30": [
        (
            "warning",
            "misc/shmutils.cc:87",
            "Error while creating shared memory segment /dev/shm/nccl-Xy1 (size 9637888)",
        )
    ],
    "RCCL": [("version", "rccl", "2.22.3"), ("setting", "RCCL_MSCCL_ENABLE", "0")],
}


@pytest.mark.parametrize("dialect", CALLS)
def test_every_record_of_a_dialect_has_all_its_fields(read, dialect):
    con = read(getattr(dialects, dialect))
    assert rows(con, "nccl_call", CALL) == CALLS[dialect]
    assert rows(con, "nccl_tuning", CHOICE) == CHOICES.get(dialect, [])
    assert rows(con, "nccl_comm", COMM) == COMMS.get(dialect, [])
    assert rows(con, "nccl_link", LINK) == LINKS.get(dialect, [])
    assert rows(con, "nccl_note", NOTE) == NOTES.get(dialect, [])
    assert losses(con) == {}


def test_a_call_tells_who_when_and_on_what(read):
    con = read(dialects.NCCL_2_27)
    columns = "source, logged_ns, host, pid, tid, comm, is_in_place, stream"
    assert rows(con, "nccl_call", columns) == [
        (
            "coll",
            1_778_044_090_123_456_000,
            "gpu1",
            340,
            340,
            "0x5577f0a1b3c0",
            False,
            "0x5577ef90d2e0",
        )
    ]


@pytest.mark.parametrize(
    ("stamp", "ns"),
    [
        ("", None),
        ("[2026-05-06 05:08:10] ", 1_778_044_090_000_000_000),
        ("[2026-05-06 05:08:10.123456] ", 1_778_044_090_123_456_000),
        ("[2026-05-06 05:08:10.123456789] ", 1_778_044_090_123_456_789),
        ("[2026-05-06 00:38:10.5 -0430] ", 1_778_044_090_500_000_000),
        ("[Wed 05:08] ", None),
    ],
)
def test_a_line_has_its_time_whatever_lane_reads_it(read, stamp, ns):
    coll = f"{stamp}gpu1:1:1 [0] NCCL INFO {WORDS}\n"
    warning = f"{stamp}gpu1:1:1 [0] a.cc:1 NCCL WARN bad\n"
    con = read(coll + warning + "vllm x " + coll)
    assert rows(con, "nccl_call", "logged_ns") == [(ns,), (ns,)]
    assert rows(con, "nccl_note", "logged_ns") == [(ns,)]


WORDS = (
    "AllReduce: opCount 0 sendbuff 0x7f00 recvbuff 0x7f00 count 8 datatype 9 op 0 root 0 "
    "comm 0x55aa10 [nranks=2] stream 0x55bb20"
)


@pytest.mark.parametrize(
    "prefix",
    [
        "[0] ",
        "[1,3]<stdout>:",
        "[1,3]<stderr>: ",
        "3: ",
        "vllm-1  | ",
        "2026-05-06T07:08:09.123Z stdout F ",
        "(EngineCore_DP0 pid=7) (RayWorkerWrapper pid=8, ip=192.0.2.9) ",
        "(VllmWorker rank=0 pid=1003) ",
        "(Worker_TP0_EP0 pid=9) ",
        "\x1b[36m(RayTrainWorker pid=5, ip=192.0.2.9)\x1b[0m ",
        "\x1b[0;36m(Worker_TP0 pid=9)\x1b[0;0m",
        "some launcher> ",
        "[rank 3] ",
        "[default0]:",
        "[rank0]:",
        "[default12]: ",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_what_stands_before_a_line_is_no_part_of_it(read, prefix, end):
    con = read(f"{prefix}gpu1:71:72 [0] NCCL INFO {WORDS}{end}Loading: 100%\n")
    assert rows(con, "nccl_call", "host, pid, tid, n_elements, stream") == [
        ("gpu1", 71, 72, 8, "0x55bb20")
    ]
    assert losses(con) == {}


@pytest.mark.parametrize(
    "prefix", ["[1,3]<stdout>:", "[default0]:", "[rank0]:", "[default12]: ", "some launcher> "]
)
def test_all_kinds_of_lines_are_read_behind_a_prefix(read, prefix):
    for dialect in ("NCCL_2_20", "NCCL_2_24", "NCCL_2_27", "NCCL_2_29", "NCCL_2_30"):
        text = getattr(dialects, dialect)
        con = read(text)
        plain = {table: rows(con, table) for table in TABLES}
        con = read("".join(prefix + line for line in text.splitlines(keepends=True)))
        assert {table: rows(con, table) for table in TABLES} == plain
        assert losses(con) == {}


def test_a_log_whose_lines_end_in_carriage_returns_alone_is_read(read):
    (process,) = processes(Random(1), n_ranks=1, n_calls=5)
    con = read(process.text)
    plain = {table: rows(con, table) for table in TABLES}
    con = read(process.text.replace("\n", "\r"))
    assert {table: rows(con, table) for table in TABLES} == plain
    assert losses(con) == {}


@pytest.mark.parametrize(
    "word",
    ["A", "A-", "A.:1", ":1:1 ", "1", "[", "[1] ", "a:1:1 [0] ", "a:1:1 b:1 (", "NCCL INFO "],
)
def test_an_endless_line_is_no_message_and_takes_no_time(read, word):
    head, whole = "gpu1:71:72 [0] NCCL INFO ", f"gpu1:71:72 [0] NCCL INFO {WORDS}\n"
    endless = word * (1_000_000 // len(word))
    begun = time.process_time()
    con = read(whole + head + endless + "\n" + endless + head + "\n" + whole)
    assert time.process_time() - begun < 10
    assert len(rows(con, "nccl_call")) == 2


def test_a_line_longer_than_nccls_is_counted(read):
    whole = f"gpu1:71:72 [0] NCCL INFO {WORDS}\n"
    con = read(f"{whole}gpu1:71:72 [0] NCCL INFO {'A' * 1_000_000}\n{whole}")
    assert len(rows(con, "nccl_call")) == 2
    assert con.execute("SELECT reason, skipped, example FROM ledger").fetchall() == [
        ("NCCL line longer than NCCL's are", 1, f"byte {len(whole)}")
    ]


def test_many_warnings_take_no_square_of_their_number(read):
    warning = "gpu1:71:72 [0] a.cc:1 NCCL WARN bad {:05}\n"
    begun = time.process_time()
    con = read("".join(map(warning.format, range(30_000))) + warning.format(7)[:-2] + "\n")
    assert time.process_time() - begun < 15
    assert len(rows(con, "nccl_note")) == 30_000


def test_lines_of_many_processes_in_a_servers_log(read):
    text = "INFO 05-06 07:08:09 [api.py:1] vLLM is using nccl==2.27.5\n" * 3
    text += "".join(f"gpu1:{pid}:{pid} [0] NCCL INFO {WORDS}\n{text}" for pid in range(20, 24))
    con = read(text, kind="server_log")
    assert rows(con, "nccl_call", "pid") == [(20,), (21,), (22,), (23,)]
    at = rows(con, "nccl_call", "at_byte")
    assert all(text[byte:].startswith("gpu1:2") for (byte,) in at)


def test_what_ray_left_out_is_counted(read):
    line = f"(RayWorkerWrapper pid=8, ip=192.0.2.9) gpu1:71:72 [0] NCCL INFO {WORDS}"
    con = read(f"{line}\n{line} [repeated 15x across cluster] (Ray deduplicates logs)\n")
    assert len(rows(con, "nccl_call")) == 2
    assert losses(con) == {"NCCL line left out by Ray": 15}


def test_a_pointer_that_is_used_again_is_another_communicator(read):
    init = (
        "gpu1:1:2 [0] NCCL INFO comm 0x55aa10 rank {} nranks 2 cudaDev 0 nvmlDev 0 busId 7000 "
        "commId 0x{}00112233445566 - Init COMPLETE\n"
    )
    call = f"gpu1:1:1 [0] NCCL INFO {WORDS}\n"
    end = (
        "gpu1:1:2 [0] NCCL INFO comm 0x55aa10 rank 0 nranks 2 cudaDev 0 busId 7000 "
        "- Destroy COMPLETE\n"
    )
    con = read(init.format(0, "aa") + call + end + init.format(1, "bb") + call)
    assert rows(con, "nccl_call", "rank") == [(0,), (1,)]
    ends = rows(con, "nccl_comm", "destroyed_at_byte")
    assert ends == [(len(init.format(0, "aa") + call),), (None,)]


def initialised(comm, n_ranks, way, middle=""):
    said = f"comm {comm} rank 0 nranks {n_ranks} cudaDev 0 busId 7000"
    return (
        f"gpu1:1:2 [0] NCCL INFO {said} - Init START\n{middle}"
        f"gpu1:1:2 [0] NCCL INFO Channel 00 : 0[7000] -> 1[8000] via {way}\n"
        f"gpu1:1:2 [0] NCCL INFO {said} - Init COMPLETE\n"
    )


def test_a_link_is_of_the_communicator_at_whose_init_it_is_said(read):
    con = read(
        initialised("0x55aa10", 4, "SHM/direct/direct") + initialised("0x55bb20", 2, "P2P/IPC")
    )
    assert rows(con, "nccl_link", "transport, comm") == [("SHM", "0x55aa10"), ("P2P", "0x55bb20")]


def test_a_link_said_while_two_communicators_begin_is_of_neither(read):
    inner = initialised("0x55bb20", 2, "P2P/IPC")
    con = read(initialised("0x55aa10", 4, "SHM/direct/direct", inner))
    assert rows(con, "nccl_link", "comm") == [(None,), (None,)]


def test_channels_and_times_belong_to_the_communicator_of_their_thread(read):
    con = read(dialects.NCCL_2_24)
    columns = "n_channels, n_nvls_channels, n_p2p_channels"
    assert rows(con, "nccl_comm", columns) == [(24, 16, 32)]
    con = read(dialects.NCCL_2_23)
    assert rows(con, "nccl_comm", "init_ns, parent") == [(370_000_000, "0x55ce40f11c80")]


def test_the_model_has_a_row_for_each_algorithm_and_protocol(read):
    con = read(dialects.NCCL_2_20)
    model = rows(con, "nccl_model", "category, algorithm, protocol, latency_ns, algbw_gb_per_s")
    assert len(model) == 18
    assert ("all_reduce", "RING", "LL128", 19000.0, 11.0) in model
    assert ("all_reduce", "TREE", "SIMPLE", 16400.0, 11.0) in model
    assert ("all_reduce", "COLLNET_DIRECT", "SIMPLE", 30700.0, 0.0) in model
    threads = set(rows(con, "nccl_model", "algorithm, protocol, max_threads"))
    assert ("RING", "SIMPLE", 256) in threads


def test_a_row_of_the_model_is_not_read_without_its_head(read):
    head, protocols, *rest = dialects.MODEL_2_20.splitlines(keepends=True)
    con = read("".join([protocols, *rest]))
    assert rows(con, "nccl_model") == []
    assert losses(con) == {"row of NCCL's model without its head": 2}
    con = read("".join([head, protocols, *rest[:2], head[:60] + "\n", *rest[2:]]))
    assert {category for category, *_ in rows(con, "nccl_model", "category")} == {"broadcast"}


def test_a_log_that_ends_in_a_line_has_one_call_less(read):
    (process,) = processes(Random(1), n_ranks=1, n_calls=5)
    con = read(process.text.rstrip("\n"))
    assert len(rows(con, "nccl_tuning")) == 4
    con = read(process.text[: process.text.rindex("opCount") + 100])
    assert len(rows(con, "nccl_call")) == 4
    assert losses(con) == {"torn NCCL line": 1}


def test_a_number_cut_with_its_line_is_no_shorter_number(read):
    (process,) = processes(Random(1), n_ranks=1, n_calls=6)
    lines = process.text.splitlines(keepends=True)
    at = max(i for i, line in enumerate(lines) if "opCount" in line)
    lines[at] = lines[at][:-3] + "\n"
    con = read("".join(lines))
    assert len(rows(con, "nccl_call")) == 5
    assert losses(con) == {"NCCL call whose line may be cut": 1}


def test_the_name_of_nccl_within_a_time_is_no_end_of_a_header(read):
    con = read(f"[at NCCL INFO 3] gpu1:71:72 [0] NCCL INFO {WORDS}\n" * 2)
    assert rows(con, "nccl_call", "host, pid, logged_ns") == [("gpu1", 71, None)] * 2


def test_a_warning_is_kept_in_its_own_words(read):
    con = read("gpu1:71:72 [0] a.cc:1 (f) NCCL WARN  caf\u00e9  {x} NCCL version?\t$1 \n" * 2)
    assert (
        rows(con, "nccl_note", "name, value") == [("a.cc:1", "caf\u00e9 {x} NCCL version? $1")] * 2
    )


def test_text_that_is_no_ascii_leaves_the_bytes_right(read):
    text = f"Grüße {chr(0x1F600)}\ngpu1:1:1 [0] NCCL INFO {WORDS}\n".encode()
    con = read(text + b"\xff\xfe\x00\n" + text)
    assert rows(con, "nccl_call", "at_byte") == [
        (text.index(b"gpu1"),),
        (len(text) + 4 + text.index(b"gpu1"),),
    ]


def test_a_compressed_log_is_read_like_a_plain_one(read):
    packed = gzip.compress(dialects.NCCL_2_24.encode())
    assert rows(read(packed), "nccl_call", CALL) == CALLS["NCCL_2_24"]
    con = read(packed[:60] + bytes(40) + packed[100:])
    assert list(losses(con)) == ["NCCL log that cannot be read to its end"]
