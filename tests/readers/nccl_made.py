"""Logs of NCCL made line by line, whole and torn in the ways that logs tear."""

import duckdb

from tracekit.readers.folder import InputFile
from tracekit.readers.nccl_log import read_logs

HOST = "trainer-04"
TABLES = {
    "nccl_comm": "host, pid, comm, comm_id, rank, n_ranks, n_nodes, cuda_device, nvml_device,"
    " bus_id, parent",
    "nccl_call": "source, host, pid, comm, rank, n_ranks, collective, category,"
    " op_count, n_elements, dtype, reduction, root, bytes, is_in_place, stream",
    "nccl_tuning": "host, pid, tid, category, bytes, algorithm, protocol, n_channels, kernel,"
    " n_threads, model_ns",
    "nccl_model": "host, pid, category, algorithm, protocol, latency_ns, algbw_gb_per_s,"
    " max_threads",
    "nccl_link": "host, pid, channel, connection, from_rank, to_rank, direction, transport, detail",
    "nccl_note": "host, pid, kind, name, value, facts",
}
"""What of each table a line tells; a torn line may lack its time."""


def rows(con, table, columns=None):
    """Rows of a table in the order of the log."""
    order = "" if table == "ledger" else "ORDER BY file_id, at_byte"
    return con.execute(f"SELECT {columns or TABLES[table]} FROM {table} {order}").fetchall()


def losses(con):
    """Ledger: reason to lines skipped."""
    return dict(
        con.execute("SELECT reason, sum(skipped)::BIGINT FROM ledger GROUP BY 1").fetchall()
    )


class Reader:
    """Reads logs into a database in memory, one after the other."""

    def __init__(self, folder, schema):
        self.con = duckdb.connect(config={"threads": 2})
        self.con.execute(schema)
        self._folder = folder

    def __call__(self, *contents, kind="nccl_log"):
        for table in (*TABLES, "ledger"):
            self.con.execute(f"DELETE FROM {table}")
        files = []
        for i, content in enumerate(contents):
            path = self._folder / f"{i}.log"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            files.append((i, InputFile(path, path.name, kind, path.stat().st_size)))
        read_logs(self.con, files, run="r", scratch=self._folder)
        return self.con


class Process:
    """Lines of one rank; pointers differ from process to process as the kernel makes them."""

    def __init__(self, rank, n_ranks, random, stamp=""):
        self.rank = rank
        self.n_ranks = n_ranks
        self.pid = 5200 + rank
        heap = random.randrange(0x5500_0000_0000, 0x56FF_0000_0000, 0x1000)
        self.comm = f"{heap + 0x40:#x}"
        self.streams = [f"{heap + 0x5000 + 0x90 * i:#x}" for i in (1, 7)]
        self.buffers = random.randrange(0x7F00_0000_0000, 0x7FFF_0000_0000, 0x20_0000)
        self.stamp = stamp
        self.text = ""

    def say(self, text, tid=None):
        tid = tid or self.pid + 40
        self.text += f"{self.stamp}{HOST}:{self.pid}:{tid} [{self.rank}] NCCL INFO {text}\n"

    def init(self):
        if self.rank == 0:
            self.say("NCCL version 2.29.2+cuda13.0")
        self.say("NCCL_P2P_DISABLE set by environment to 1.")
        said = (
            f"comm {self.comm} rank {self.rank} nranks {self.n_ranks} cudaDev {self.rank} "
            f"nvmlDev {self.rank} busId {0x1000 * (self.rank + 1):x} commId 0x9d3ac41f77b01e52"
        )
        self.say(f"ncclCommInitRankConfig {said} - Init START")
        self.say(
            f"comm {self.comm} rank {self.rank} nRanks {self.n_ranks} nNodes 1 "
            f"localRanks {self.n_ranks} localRank {self.rank} MNNVL 0"
        )
        order = " ".join(map(str, range(self.n_ranks)))
        for channel in range(2):
            if self.rank == 0:
                self.say(f"Channel {channel:02}/02 : {order}")
        following = (self.rank + 1) % self.n_ranks
        for channel in range(2):
            self.say(
                f"Channel {channel:02} : {self.rank}[{self.rank}] -> {following}[{following}] "
                "via SHM/direct/direct"
            )
        self.say(
            "2 coll channels, 0 collnet channels, 0 nvls channels, 2 p2p channels, "
            "2 p2p channels per peer"
        )
        self.say(f"ncclCommInitRankConfig {said} - Init COMPLETE")

    def call(self, count, place, name="AllReduce", stream=0):
        buffer = self.buffers + 0x10_0000 * place
        self.say(
            f"{name}: opCount {place:x} sendbuff {buffer:#x} recvbuff {buffer + 0x800:#x} "
            f"count {count} datatype 9 op 0 root 0 comm {self.comm} [nranks={self.n_ranks}] "
            f"stream {self.streams[stream]}",
            tid=self.pid,
        )
        if self.rank == 0:
            channels = 2 if count > 9000 else 1
            self.say(
                f"{name}: {2 * count} Bytes -> Algo RING proto LL "
                f"channel{{Lo..Hi}}={{0..{channels - 1}}}",
                tid=self.pid,
            )


def processes(random, n_ranks=4, n_calls=40, stamp=""):
    """Processes of one run that have said all they have to say."""
    made = [Process(rank, n_ranks, random, stamp) for rank in range(n_ranks)]
    for process in made:
        process.init()
    for place in range(n_calls):
        count = random.choice([7168, 14336, 28672, 114688, 1792])
        name = random.choice(["AllReduce", "AllReduce", "AllReduce", "AllGather"])
        for process in made:
            process.call(count, place, name, stream=int(place >= n_calls // 2))
    return made


def in_lines(texts, random):
    """Whole lines of several processes in one file."""
    return _merged([text.splitlines(keepends=True) for text in texts], random)


def in_blocks(texts, random, size=4096):
    """What stdio makes of it: blocks of each process, cut anywhere."""
    return _merged(
        [[text[i : i + size] for i in range(0, len(text), size)] for text in texts], random
    )


def in_pieces(texts, random):
    """What NCCL 2.29 makes of it on an unbuffered stdout: each line in pieces of 128 bytes."""
    lines = [text.splitlines(keepends=True) for text in texts]
    pieces = [[one[i : i + 128] for one in of for i in range(0, len(one), 128)] for of in lines]
    return _merged(pieces, random)


def _merged(parts, random):
    queues = [list(reversed(one)) for one in parts]
    whole = []
    while alive := [queue for queue in queues if queue]:
        whole.append(random.choice(alive).pop())
    return "".join(whole)
