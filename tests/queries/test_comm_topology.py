"""How the GPUs talk, in words, from logs made line by line."""

from pathlib import Path
from random import Random

import pytest
from readers.nccl_made import Process, Reader, in_lines, processes

from tracekit import queries

SCHEMA = (Path(__file__).parents[2] / "tracekit" / "schema.sql").read_text()


@pytest.fixture
def told(tmp_path):
    """Function that gives the facts of some logs: topic to words."""
    read = Reader(tmp_path, SCHEMA)

    def topology(*logs, report="comm_topology"):
        con = read(*logs)
        return con.execute(queries.load(report).sql, {"run": "r"}).fetchall()

    return topology


def words(rows, topic):
    return [said for found, said, _ in rows if found == topic]


def test_eight_ranks_of_a_box_without_p2p(told):
    log = in_lines([one.text for one in processes(Random(3), n_ranks=8)], Random(3))
    rows = told(log)
    assert words(rows, "ranks") == ["8 ranks on one node (trainer-04)"]
    assert words(rows, "links") == [
        "no P2P between the GPUs of a node: all goes through host memory (SHM)"
    ]
    assert words(rows, "transport") == ["SHM through host memory (8 connections)"]
    assert words(rows, "channels") == ["2 for collectives, 2 for point-to-point"]
    assert words(rows, "ring") == ["0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7, back to 0 (2 channels)"]
    assert words(rows, "version") == ["NCCL 2.29.2"]
    assert words(rows, "setting") == [
        "NCCL_P2P_DISABLE=1: P2P is switched off by hand (8 processes)"
    ]


def test_a_file_for_each_process_says_the_same_as_one_for_all(told):
    made = [one.text for one in processes(Random(3), n_ranks=8)]
    assert told(*made) == told(in_lines(made, Random(4)))


@pytest.mark.parametrize("n_engines", [1, 2])
def test_ranks_without_a_common_name_are_of_one_communicator(told, n_engines):
    """NCCL 2.18.1 does not log commId."""
    texts = []
    for engine in range(n_engines):
        for process in processes(Random(engine), n_ranks=4):
            text = process.text.replace(" commId 0x9d3ac41f77b01e52", "")
            texts.append(text.replace(":520", f":{engine + 7}20"))
    counted = "2 communicators of 4 ranks" if n_engines == 2 else "4 ranks"
    assert words(told(*texts), "ranks") == [f"{counted} on one node (trainer-04)"]
    assert told(*texts) == told(in_lines(texts, Random(4)))


def test_several_communicators_are_told_apart_by_their_ranks(told):
    of_all, of_two = Process(0, 4, Random(1)), Process(0, 2, Random(2))
    of_all.init()
    of_two.init()
    two = of_two.text.replace("9d3ac41f77b01e52", "1111222233334444").replace("SHM/", "P2P/IPC#")
    two = two.replace("P2P/IPC#direct/direct", "P2P/IPC").replace(":5200:", ":6200:")
    rows = told(of_all.text, two)
    assert words(rows, "ranks") == [
        "4 ranks on one node (trainer-04); the log has 1 of them",
        "2 ranks on one node (trainer-04); the log has 1 of them",
    ]
    assert words(rows, "links") == [
        "4 ranks: no P2P between the GPUs of a node: all goes through host memory (SHM)",
        "2 ranks: P2P over PCIe (2 channels tell)",
    ]


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)", "NVLS multicast"),
        ("+ NVL[200.0] - NVS/0", "NVLink (the topology"),
        ("      + XGMI[48.0] - GPU/0-26000", "xGMI"),
        (
            "Pattern 4, crossNic 0, nChannels 12, bw 20.000000/20.000000, type NVL/PIX, "
            "sameChannels 1",
            "NVLink (the topology",
        ),
    ],
)
def test_what_tells_the_link_comes_before_what_hints_at_it(told, line, verdict):
    (process,) = processes(Random(1), n_ranks=1)
    process.n_ranks = 2
    process.init()
    process.say(line)
    assert verdict in words(told(process.text), "links")[0]


def test_a_network_between_hosts_is_named(told):
    made = []
    for host, rank in (("left", 0), ("right", 1)):
        process = Process(rank, 2, Random(rank))
        process.init()
        text = process.text.replace("trainer-04", host).replace("nNodes 1", "nNodes 2")
        text = text.replace(" via SHM/direct/direct", " [send] via NET/IB/0/GDRDMA")
        made.append(text)
    rows = told(*made)
    assert words(rows, "ranks") == ["2 ranks on 2 nodes (left, right)"]
    assert words(rows, "links") == ["the network alone"]
    assert words(rows, "transport") == ["network IB with GPUDirect RDMA (2 connections)"]


def test_warnings_are_explained_and_counted(told):
    lines = [
        "box:{0}:{0} [0] net.cc:7 NCCL WARN Call to recv from 10.0.0.{0}<4{0}> failed",
        "box:{0}:{0} [0] a.cc:9 (f) NCCL WARN strange value {0}",
    ]
    log = "".join(f"\n{line.format(pid)}\n" for pid in (31, 32, 33) for line in lines)
    peer, strange = told(log, report="comm_warnings")
    assert peer[:3] == (3, "net.cc:7", "Call to recv from 10.0.0.31<431> failed")
    assert "another rank died first" in peer[3]
    assert strange[:5] == (3, "a.cc:9", "strange value 31", None, None)


def test_a_hang_that_torch_tells_of_is_a_warning(told):
    log = (
        "box:1:1 [0] NCCL INFO Connected all rings\n"
        "[rank1]:[E1129 03:15:05.1 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective "
        "operation timeout: WorkNCCL(SeqNum=8, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, "
        "Timeout(ms)=600000) ran for 600003 milliseconds before timing out.\n"
    )
    ((n, place, text, meaning, *_),) = told(log, report="comm_warnings")
    assert (n, place) == (1, "watchdog")
    assert text.startswith("Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8")
    assert "did not end in time" in meaning
