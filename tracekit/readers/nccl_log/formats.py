"""Forms of NCCL's messages, and what its codes mean.

Source: NCCL 2.18 to 2.32 and RCCL of the same bases: src/enqueue.cc (calls, choices), src/init.cc
(communicators), src/graph/*.cc (topology, tables), src/transport/*.cc (connections).
"""

import re

POINTER = r"(?:\(nil\)|0x[0-9a-f]+)"

CATEGORIES = {
    "AllReduce": "all_reduce",
    "mscclpp_ncclAllReduce": "all_reduce",
    "AllGather": "all_gather",
    "mscclpp_ncclAllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "Broadcast": "broadcast",
    "Bcast": "broadcast",
    "AlltoAll": "all_to_all",
    "AllToAll": "all_to_all",
    "AllToAllv": "all_to_all",
    "AllToAllPivot": "all_to_all",
    "All2All": "all_to_all",
    "Send": "send_recv",
    "Recv": "send_recv",
    "SendRecv": "send_recv",
    "AllGatherV": "collective_other",
    "Reduce": "collective_other",
    "Gather": "collective_other",
    "Scatter": "collective_other",
    "PutSignal": "collective_other",
    "Signal": "collective_other",
    "WaitSignal": "collective_other",
}
"""By the names of NCCL's and RCCL's collectives, which are all: another one is what a tear left."""

_NAME = "(?:" + "|".join(CATEGORIES) + ")"
_COLL = f"(?P<coll>{_NAME})"

CALL = (
    _NAME + r": opCount [0-9a-f]{1,15} sendbuff {p} recvbuff {p} count \d{1,18} "
    r"datatype \d{1,4} op \d{1,9} root -?\d{1,9} comm 0x[0-9a-f]+ \[nranks=\d{1,9}\] stream {p}"
    r"(?: task \d{1,9} globalrank \d{1,9})?"
).replace("{p}", POINTER)
"""A collective call (subsystem COLL), without groups, for RE2 and Python alike."""

API_CALL = (
    r"nccl" + _COLL + r"\((?P<send>{p}),(?P<recv>{p}),(?P<n>\d{1,18}),(?P<dtype>\d{1,4}),"
    r"(?P<op>\d{1,9}),(?P<root>-?\d{1,9}),(?P<comm>0x[0-9a-f]+),(?P<stream>{p})\)"
).replace("{p}", r"(?:\(nil\)|(?:0x)?[0-9a-f]+)")

INIT = (
    r"(?:\[Rank \d+\] )?(?:ncclComm\w+ )?comm (?P<comm>0x[0-9a-f]+) rank (?P<rank>\d{1,9}) "
    r"n[rR]anks (?P<n_ranks>\d{1,9}) cudaDev (?P<cuda>\d{1,9})(?: nvmlDev (?P<nvml>\d{1,9}))? "
    r"busId (?P<bus>[0-9a-f]+)(?: commId (?P<id>0x[0-9a-f]+))?"
    r"(?: parent (?P<parent>0x[0-9a-f]+) (?:splitCount|childCount) \d+ color -?\d+ key -?\d+)?"
    r"(?: commId (?P<late_id>0x[0-9a-f]+))? ?- "
    r"(?P<what>Init START|Init COMPLETE|Finalize COMPLETE|Destroy START|Destroy COMPLETE"
    r"|Abort START|Abort COMPLETE)"
)
NODES = (
    r"comm (?P<comm>0x[0-9a-f]+) rank (?P<rank>\d{1,9}) nRanks (?P<n_ranks>\d{1,9}) "
    r"nNodes (?P<n_nodes>\d{1,9}) localRanks \d+ localRank \d+ MNNVL [01]"
)
TIMINGS = (
    r"Init timings(?: - \w+)?: rank (?P<rank>\d{1,9}) nranks (?P<n_ranks>\d{1,9}) "
    r"total (?P<seconds>\d{1,6}\.\d{2}) \([^()]*\)"
)
CHANNELS = (
    r"(?P<coll>\d{1,6}) coll channels, (?:(?P<collnet>\d{1,6}) collnet channels, )?"
    r"(?P<nvls>\d{1,6}) nvls channels, (?P<p2p>\d{1,6}) p2p channels, "
    r"\d{1,6} p2p channels per peer"
)
CHOICE = (
    _COLL + r": (?P<bytes>\d{1,18}) Bytes -> Algo (?P<algo>[A-Z_]+|Unknown) "
    r"proto (?P<proto>[A-Z0-9]+|Unknown) channel\{Lo\.\.Hi\}=\{(?P<lo>\d{1,6})\.\.(?P<hi>\d{1,6})\}"
    r"(?: cgaClusterSize -?\d+)?"
)
CHOICE_OLD = (
    r"(?:" + _COLL + r": )?(?P<bytes>\d{1,18}) Bytes -> Algo (?P<algo>-?\d{1,2}) "
    r"proto (?P<proto>-?\d{1,2}) time (?P<us>-?\d{1,12}\.\d{6})"
)
CHOICE_SYMMETRIC = (
    _COLL + r" \[Symmetric\]: (?P<bytes>\d{1,18}) Bytes -> Kernel (?P<kernel>\w+) "
    r"nchannels (?P<channels>\d{1,6}) nthreads (?P<threads>\d{1,6})(?P<works> nWorks \d+)?"
)
CHOICE_COPY = (
    _COLL + r" \[(?:Copy Engine|Hierarchical CE)\]: (?P<bytes>\d{1,18}) Bytes -> "
    r"(?P<kernel>cudaMemcpy(?:; ?CE synchronization with NVLS)?"
    r"|CE synchronization with NVLS|RMA proxy \+ CE)"
)
CHOICES = (CHOICE, CHOICE_OLD, CHOICE_SYMMETRIC, CHOICE_COPY)
TABLE_HEAD = r"\s*Algorithm\s+\|(?P<cells>(?:\s+\w+\s+\|)+)"
TABLE_PROTOCOLS = r"\s*Protocol\s+\|(?P<cells>(?:\s+\w+\s+\|)+)"
TABLE_THREADS = r"\s*Max NThreads \|(?P<cells>(?:\s+\d+ \|)+)"
TABLE_ROW = (
    r"\s*(?P<coll>Broadcast|Reduce|AllGather|ReduceScatter|AllReduce) \|"
    r"(?P<cells>(?:\s*\d+\.\d/\s*\d+\.\d\s?\|)+)"
)
LINK = (
    r"(?:Channel|CollNet) (?P<channel>\d{1,6})(?:/(?P<connection>\d{1,6}))?\s*: "
    r"(?P<from>\d{1,9})(?:\[[0-9a-f]+\])?(?: -> (?P<to>\d{1,9})\[[0-9a-f]+\])? "
    r"(?:\[(?P<direction>send|receive)\] )?via (?P<transport>P2P|SHM|NET|COLLNET)/"
    r"(?P<detail>(?:MNNVL|CUMEM|IPC|CE|direct|direct pointer|indirect/\d+\[[0-9a-f]+\])"
    r"(?:/(?:read|CE|direct))*|\w[\w \-.]*/\d+(?:\(\d+\))?(?:/GDRDMA(?:\(PCI\))?)?(?:/Shared)?)"
)
RING = r"Channel (?P<name>\d+/\d+) :(?P<value>(?:\s+\d+)+)"
TREES = r"Trees (?P<value>(?:\[\d+\] [\-\d/]+->-?\d+->-?\d+ ?)+)(?:comm 0x[0-9a-f]+ .*)?"

WHOLE = {
    "call": re.compile(CALL),
    "api_call": re.compile(API_CALL),
    "init": re.compile(INIT),
    "nodes": re.compile(NODES),
    "timings": re.compile(TIMINGS),
    "channels": re.compile(CHANNELS),
    "choice": re.compile(CHOICE),
    "choice_old": re.compile(CHOICE_OLD),
    "choice_symmetric": re.compile(CHOICE_SYMMETRIC),
    "choice_copy": re.compile(CHOICE_COPY),
    "table_head": re.compile(TABLE_HEAD),
    "table_protocols": re.compile(TABLE_PROTOCOLS),
    "table_threads": re.compile(TABLE_THREADS),
    "table_row": re.compile(TABLE_ROW),
    "link": re.compile(LINK),
}
"""Messages that have a form of their own to their end, by name; in this order."""

ALGORITHMS = ("TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT")
PROTOCOLS = ("LL", "LL128", "SIMPLE")
TABLE_ALGORITHMS = {
    "Tree": "TREE",
    "Ring": "RING",
    "CollNetDirect": "COLLNET_DIRECT",
    "CollNet": "COLLNET_DIRECT",
    "CollNetChain": "COLLNET_CHAIN",
    "NVLS": "NVLS",
    "NVLSTree": "NVLS_TREE",
    "PAT": "PAT",
}
"""Names in the tables of the model, and in all other lines."""


def category(collective: str) -> str:
    """Category of a collective by its name in the log."""
    return CATEGORIES.get(collective, "collective_other")


def form_of(text: str) -> tuple[str, re.Match[str]] | None:
    """Name of the form that the whole text has, and the match; None where it has none."""
    for name, pattern in WHOLE.items():
        if found := pattern.fullmatch(text):
            return name, found
    return None
