"""What events tell of collectives: sizes, groups, shapes; from every lane, of hostile files too."""

import gzip
import json

import pytest
from mutations import mutated

from tracekit.errors import TracekitError
from tracekit.readers import lanes
from tracekit.rules import builtin_document

BASE = 1_719_853_884_000_000_000
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
TOLD = {
    "Collective name": "all_to_allv",
    "In msg nelems": 2049000,
    "Out msg nelems": 2049001,
    "Group size": 8,
    "dtype": "BFloat16",
    "In split size": "[]",
    "Process Group Name": "3",
    "Process Group Description": "tp:0",
    "Process Group Ranks": "[0, 1, 2, ...]",
    "Seq": 41,
}
SHAPES = {"Input Dims": [[[17, 256]], [], []], "Input type": ["TensorList", "", "Scalar"]}
COLUMNS = (
    "kind, name, thread, start_ns, dur_ns, external_id, correlation, collective, dtype, n_in,"
    " n_out, group_size, pg_name, pg_desc, pg_ranks, seq, in_dims, in_types"
)


def event(cat, name, ts, dur, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur} | {
        "args": args
    }


def events(start=4_909_914_679_591.525):
    """An op and what it enqueues, a kernel, a span of gloo, and as much that is no collective."""
    ids = {"External id": 12, "correlation": 99}
    return [
        event("cpu_op", "c10d::allreduce_", start, 9.5, **{"External id": 11}, **SHAPES),
        event("cpu_op", "record_param_comms", start, 8.25, **{"External id": 12}, **TOLD, **SHAPES),
        event("user_annotation", "gloo:all_reduce", start, 7, 2, **SHAPES),
        event("kernel", NCCL, start + 20, 5.5, 7, stream=7, device=0, **ids, **TOLD),
        event("kernel", "gemm", start + 30, 5.5, 7, stream=7, device=0, **ids),
        event("cpu_op", "aten::mm", start, 9.5, **SHAPES),
        event("cpu_op", "c10d::barrier", start, 9.5),
        event("gpu_user_annotation", "nccl:all_reduce", start, 9.5, 7, **TOLD),
    ]


def rows_of(start_ns):
    told = ("all_to_allv", "BFloat16", 2049000, 2049001, 8, "3", "tp:0", "[0, 1, 2, ...]", 41)
    none = (None,) * len(told)
    shapes = ("[[[17,256]],[],[]]", '["TensorList","","Scalar"]')
    return [
        ("kernel", NCCL, 7, start_ns + 20_000, 5500, 12, 99, *told, None, None),
        ("op", "c10d::allreduce_", 1, start_ns, 9500, 11, None, *none, *shapes),
        ("op", "record_param_comms", 1, start_ns, 8250, 12, None, *told, *shapes),
        ("scope", "gloo:all_reduce", 2, start_ns, 7000, None, None, *none, *shapes),
    ]


def told(staged):
    return staged.rows(f"SELECT {COLUMNS} FROM collective_arg ORDER BY kind, name, start_ns")


def trace(*more, start=4_909_914_679_591.525, **form):
    document = {"traceEvents": [*events(start), *more], "baseTimeNanoseconds": BASE}
    return json.dumps(document, **form)


def unmatched(staged):
    """Rows that belong to no event of the tables of events, so that nothing could join them."""
    ((n,),) = staged.rows("""
        SELECT count(*)
        FROM collective_arg AS told
        ANTI JOIN kept
            ON kept.file_id = told.file_id AND kept.kind = told.kind AND kept.name = told.name
            AND kept.start_ns = told.start_ns AND kept.dur_ns = told.dur_ns
            AND CASE told.kind
                WHEN 'kernel' THEN kept.correlation IS NOT DISTINCT FROM told.correlation
                ELSE kept.thread IS NOT DISTINCT FROM told.thread
            END
    """)
    return n


AT_NS = BASE + 4_909_914_679_591_525


@pytest.mark.parametrize(
    "content",
    [
        trace(),
        trace(indent=4),
        trace(separators=(",", ":")),
        trace(event("cpu_op", "e", 1.5, 1, correlation="none")),
        trace().replace('"name": "gemm"', '"name": "C:\\gemm"'),
        trace()[: trace().index('"baseTime')]
        + f'"metadata": {{}}, "baseTimeNanoseconds": {BASE}}}',
    ],
    ids=["fast", "pretty", "compact", "lenient", "piecewise", "late base"],
)
def test_every_lane_reads_the_same(read, content):
    staged = read(content)
    assert told(staged) == rows_of(AT_NS)
    assert unmatched(staged) == 0


def test_collectives_behind_the_head_of_the_file_are_read(read, monkeypatch):
    monkeypatch.setattr(lanes, "_SALVAGE_BYTES", trace().index("Collective name"))
    assert told(read(trace())) == rows_of(AT_NS)


def test_times_too_large_for_double_are_exact(read):
    content = trace(start=1_712_195_495_519_689.5).replace("519709.5", "519709.501")
    staged = read(content)
    exact = rows_of(BASE + 1_712_195_495_519_689_500)
    assert told(staged) == [exact[0][:3] + (exact[0][3] + 1,) + exact[0][4:], *exact[1:]]
    assert unmatched(staged) == 0


def test_a_compressed_file_and_a_bare_array_tell_as_much(read):
    assert told(read(gzip.compress(trace().encode()), "t.json.gz")) == rows_of(AT_NS)
    assert told(read(events())) == rows_of(AT_NS - BASE)


def test_a_front_end_tells_nothing(read):
    assert told(read(trace(), "node_1.async_llm.1.pt.trace.json")) == []


@pytest.mark.parametrize("name", builtin_document()["collective_op"]["examples"])
def test_ops_with_shapes_are_known_by_name(read, name):
    staged = read([event("cpu_op", name, 1, 1, **SHAPES)])
    assert staged.rows("SELECT name, in_dims FROM collective_arg") == [
        (name, "[[[17,256]],[],[]]"),
    ]


@pytest.mark.parametrize(
    "name", ["aten::mm", "aten::broadcast_to", "_C::rms_norm", "nn.Module: AllReduce_0", "ncclx"]
)
def test_other_ops_tell_nothing(read, name):
    assert told(read([event("cpu_op", name, 1, 1, **SHAPES)])) == []


def sizes(staged):
    return staged.rows("SELECT n_in, n_out, group_size, seq FROM collective_arg")


def one(**args):
    return [event("kernel", NCCL, 1, 1, 7, **{"Collective name": "allreduce"}, **args)]


@pytest.mark.parametrize(
    ("args", "found"),
    [
        ({}, (None, None, None, None)),
        ({"In msg nelems": "4096", "Group size": "2", "Seq": "7"}, (4096, None, 2, 7)),
        ({"In msg nelems": None, "Out msg nelems": 0}, (None, 0, None, None)),
    ],
    ids=["missing", "numbers as text", "null"],
)
def test_what_is_not_told_is_null_and_no_fault(read, args, found):
    staged = read(one(**args))
    assert sizes(staged) == [found]
    assert staged.losses() == {}


@pytest.mark.parametrize("value", ["many", [4096], {"n": 1}, 1e300, 10**30])
def test_a_size_that_is_no_number_is_a_warning(read, value):
    staged = read(one(**{"In msg nelems": value, "Group size": 2}))
    assert sizes(staged) == [(None, None, 2, None)]
    assert staged.losses() == {"argument not a number": 0}
    assert "In msg nelems" in staged.example("argument not a number")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("In msg nelems", 2**62), ("In msg nelems", 4.5), ("Out msg nelems", -1)],
        *[("Group size", 0), ("Group size", 2**40)],
    ],
)
@pytest.mark.parametrize("more", [{}, {"correlation": "none"}], ids=["fast", "lenient"])
def test_a_size_that_no_message_has_is_a_warning(read, name, value, more):
    sane = {"In msg nelems": 5, "Out msg nelems": 5, "Group size": 2}
    staged = read([*one(**sane | {name: value}), event("cpu_op", "e", 1.5, 1, **more)])
    assert sizes(staged) == [(*(sane | {name: None}).values(), None)]
    members = ", ".join(f"{key} {number}" for key, number in (sane | {name: value}).items())
    example = staged.example("collective argument out of range")
    assert example == f"1 events, such as {NCCL}, {members}"


def test_an_all_reduce_whose_counts_differ_has_none(read):
    staged = read(one(**{"In msg nelems": 5, "Out msg nelems": 10, "Group size": 2}))
    assert sizes(staged) == [(None, None, 2, None)]
    assert "In msg nelems 5, Out" in staged.example("collective argument out of range")


@pytest.mark.parametrize("start", ["1", "1.5"])
def test_of_members_told_twice_the_first_counts(read, start):
    args = '{"Collective name": "allreduce", "Seq": 1, "Seq": 2, "Collective name": "wait"}'
    kernel = '{"ph": "X", "cat": "kernel", "name": "k", "tid": 7, "dur": 1'
    staged = read(f'[{kernel}, "ts": {start}, "args": {args}}}]')
    assert staged.rows("SELECT collective, seq FROM collective_arg") == [("allreduce", 1)]


@pytest.mark.parametrize(
    "value", [True, 5, {"a": [1, {"b": "\ud800"}]}, "[[1, 2", "\x00'; DROP", ""]
)
def test_texts_may_be_anything(read, value):
    texts = ("dtype", "Process Group Name", "Process Group Ranks", "Input Dims", "Input type")
    staged = read(one(**dict.fromkeys(texts, value)))
    ((dtype, name, ranks, dims, types),) = staged.rows(
        "SELECT dtype, pg_name, pg_ranks, in_dims, in_types FROM collective_arg"
    )
    assert dtype == name == ranks == dims == types
    assert staged.losses().keys() <= {"repaired text"}


def test_an_event_at_zero_that_is_skipped_tells_nothing(read):
    staged = read([*events(), event("kernel", NCCL, 0, 1, 7, **TOLD)])
    assert staged.losses() == {"start at 0": 1}
    assert told(staged) == rows_of(AT_NS - BASE)


@pytest.mark.parametrize("seed", range(50))
def test_damage_breaks_no_event_that_tells(read, seed):
    more = (one for start in range(20) for one in events(start + 0.125))
    try:
        staged = read(mutated(trace(*more).encode(), seed), "t.json")
    except TracekitError:
        return
    assert unmatched(staged) == 0


def test_recorded_kernels_of_nccl_tell_their_messages(staged, shared):
    read = staged(shared / "public" / "torch_a100_nccl_args.json.gz")
    assert read.rows("""
        SELECT told.collective, count(*), sum(told.dur_ns), max(n_in), max(group_size)
        FROM collective_arg AS told
        INNER JOIN device_event USING (file_id, name, start_ns, correlation)
        WHERE told.kind = 'kernel'
        GROUP BY told.collective
        ORDER BY told.collective
    """) == [("allreduce", 15, 46_762_159, 7_875_584, 2), ("broadcast", 6, 114_334, 53_120, 2)]
    longest = "SELECT dur_ns, n_in, group_size FROM collective_arg WHERE kind = 'kernel'"
    assert read.rows(longest + " ORDER BY dur_ns DESC LIMIT 1") == [(5_993_392, 2_049_000, 2)]
    assert read.rows("SELECT kind, count(*) FROM collective_arg GROUP BY kind ORDER BY kind") == [
        ("kernel", 21),
        ("op", 27),
    ]


@pytest.mark.parametrize(
    ("run", "counts"),
    [
        ("tp2-baseline", [("_C::shm_all_gather", 98), ("_C::shm_allreduce", 882)]),
        (
            "tp2-gloo-baseline",
            [("c10d::_allgather_base_", 98), ("c10d::allreduce_", 882)]
            + [("gloo:all_gather", 98), ("gloo:all_reduce", 882)],
        ),
    ],
)
def test_recorded_collectives_on_cpu_have_shapes(staged, shared, run, counts):
    read = staged(*sorted((shared / "vllm_cpu" / run / "torch").glob("rank*.gz")))
    found = read.rows(
        "SELECT name, count(in_dims) FROM collective_arg GROUP BY name ORDER BY name COLLATE nocase"
    )
    assert found == counts
    assert unmatched(read) == 0


def test_recorded_ops_of_symmetric_memory_have_shapes(staged, shared):
    read = staged(shared / "public" / "vllm_b200_tp8_rank0_eager.json.gz")
    found = read.rows("""
        SELECT name, count(*), min(in_dims), max(in_types)
        FROM collective_arg
        WHERE name LIKE '%all_reduce%'
        GROUP BY name
        ORDER BY name
    """)
    assert [row[:2] for row in found] == [
        ("symm_mem::multimem_all_reduce_", 73),
        ("vllm::all_reduce", 73),
    ]
    assert {row[2:] for row in found} == {
        ("[[2557440],[],[]]", '["c10::BFloat16","",""]'),
        ("[[888,2880],[]]", '["c10::BFloat16",""]'),
    }
    assert unmatched(read) == 0
