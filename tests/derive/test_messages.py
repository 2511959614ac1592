"""Sizes of messages: the best source that tells one, over all ranks, or none."""

import pytest
from messages import NCCL, Calls


@pytest.fixture
def calls():
    return Calls()


@pytest.mark.parametrize(
    ("category", "name", "n_in", "n_out", "size"),
    [
        ("all_reduce", "allreduce", 100, 100, 200),
        ("broadcast", "broadcast", 100, 100, 200),
        ("all_gather", "_allgather_base", 100, 800, 1600),
        ("reduce_scatter", "_reduce_scatter_base", 800, 100, 1600),
        ("all_to_all", "all_to_allv", 800, 800, 1600),
        ("collective_other", "gather", 100, 800, 1600),
        ("barrier", "barrier", 1, 1, None),
        ("all_reduce", "allreduce", 0, 0, None),
    ],
)
def test_args_tell_the_whole_message(calls, category, name, n_in, n_out, size):
    call = calls.call(1, category=category)
    calls.args(call, name, n_in, n_out, group_size=8)
    found = calls.messages("bytes", "bytes_source", "dtype", "group_size")
    assert found[call] == ((size, "args", "BFloat16", 8) if size else found[call])
    assert found[call][0] == size


@pytest.mark.parametrize(
    ("name", "grid", "channels"),
    [
        (NCCL, "[12, 1, 1]", 12),
        ("ncclKernel_AllReduce_RING_LL_Sum_half(ncclDevComm*)", "[2,1,1]", 2),
        ("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "[28, 1, 1]", 28),
        (NCCL, "[12, 2, 1]", None),
        (NCCL, None, None),
        ("ncclsymkDevKernel_AllReduce_AGxLL_R_sum_bf16(ncclsymkDevWorkArgs4K)", "[12, 1, 1]", None),
        ("mscclKernel_Sum_half_Simple_false(ncclDevComm*)", "[12, 1, 1]", None),
        ("void vllm::cross_device_reduce_1stage<half, 8>()", "[36, 1, 1]", None),
    ],
)
def test_blocks_of_nccls_own_kernels_are_channels(calls, name, grid, channels):
    call = calls.call(1, name=name)
    calls.con.execute("UPDATE device_event SET grid = $1", [grid])
    assert calls.messages("channels") == {call: channels}


@pytest.mark.parametrize(
    ("dtype", "size"), [("Float", 400), ("Half", 200), ("Float8_e4m3fn", 100), ("Long", 800)]
)
def test_elements_have_the_size_of_their_type(calls, dtype, size):
    call = calls.call(1)
    calls.args(call, "allreduce", 100, 100, dtype=dtype)
    assert calls.messages("bytes", "dtype") == {call: (size, dtype)}


BF16 = "c10::BFloat16"


@pytest.mark.parametrize(
    ("category", "op", "dims", "types", "size"),
    [
        ("all_reduce", "vllm::all_reduce", [[17, 256], []], [BF16, ""], 2 * 17 * 256),
        ("all_reduce", "_C_custom_ar::all_reduce", [[], [4, 8], [4, 8], [], []],
         ["Scalar", BF16, BF16, "Scalar", "Scalar"], 64),
        ("all_reduce", "c10d::allreduce_", [[[4, 8], [2]], [], []], [BF16, "", ""], 68),
        ("all_reduce", "nccl:all_reduce", [[]], ["float"], 4),
        ("all_reduce", "c10d::allreduce_", [[], []], ["TensorList", ""], None),
        ("all_gather", "vllm::all_gather", [[4, 8], [], []], [BF16, "Scalar", "Scalar"], 128),
        ("all_gather", "c10d::_allgather_base_", [[8, 8], [4, 8], []], [BF16, BF16, ""], 128),
        ("reduce_scatter", "vllm::reduce_scatter", [[8, 8], []], [BF16, "Scalar"], 128),
        ("reduce_scatter", "c10d::_reduce_scatter_base_", [[4, 8], [8, 8]], [BF16, BF16], 128),
        ("send_recv", "nccl:all_to_all", [[6144]], ["float"], 24576),
        ("all_reduce", "vllm::all_gather", [[4, 8]], [BF16], None),
        ("all_reduce", "vllm::all_reduce", [[4, 8], []], [BF16], None),
        ("all_reduce", "vllm::all_reduce", [[2**40, 2**40], []], [BF16, ""], None),
        ("all_reduce", "vllm::all_reduce", {"a": 1}, [BF16], None),
        ("all_reduce", "vllm::all_reduce", [["x"], []], [BF16, ""], None),
    ],
)  # fmt: skip
def test_shapes_of_the_launching_op_tell_it(calls, category, op, dims, types, size):
    call = calls.call(1, category=category)
    calls.op(op, 0.4, 0.3, dims, types)
    found = calls.messages("bytes", "bytes_source")
    assert found == {call: (size, "shapes" if size else None)}


def test_the_innermost_open_op_counts(calls):
    call = calls.call(2)
    calls.op("vllm::all_reduce", 1.0, 0.9, [[8]], [BF16])
    calls.op("symm_mem::multimem_all_reduce_", 1.4, 0.3, [[4]], [BF16])
    calls.op("vllm::all_reduce", 1.4, 0.05, [[2]], [BF16], thread=2)
    assert calls.messages("bytes") == {call: 8}


def test_an_op_that_ended_before_the_launch_is_another_calls(calls):
    call = calls.call(2)
    calls.op("vllm::all_reduce", 1.0, 0.4, [[8]], [BF16])
    assert calls.messages("bytes") == {call: None}


def test_what_was_open_when_a_graph_was_launched_is_not_its_op(calls):
    call = calls.call(1, graph=(7, 1))
    calls.op("vllm::all_reduce", 0.4, 0.3, [[8]], [BF16])
    assert calls.messages("bytes") == {call: None}


def test_args_of_an_op_come_before_shapes(calls):
    call = calls.call(1)
    calls.op("nccl:all_reduce", 0.45, 0.2, [[8]], [BF16], kind="scope")
    calls.op("record_param_comms", 0.4, 0.3, [[8]], [BF16])
    calls.con.execute(
        "UPDATE collective_arg SET collective = 'allreduce', dtype = 'Float', n_in = 6, n_out = 6"
        " WHERE name = 'record_param_comms'"
    )
    assert calls.messages("bytes", "bytes_source") == {call: (24, "args")}


def test_an_op_of_the_cpu_has_its_own_shape(calls):
    call = calls.call(1, own_thread=9, name="_C::shm_allreduce", impl="shm")
    calls.op("_C::shm_allreduce", 1, 0.1, [[], [17, 256]], ["Scalar", BF16], thread=9)
    calls.op("_C::shm_allreduce", 1, 0.1, [[], [5]], ["Scalar", BF16], thread=8)
    assert calls.messages("bytes") == {call: 2 * 17 * 256}


def test_ranks_that_tell_different_sizes_leave_none(calls):
    both = [calls.call(1, rank=rank, collective=5) for rank in (0, 1)]
    for call, n in zip(both, (8, 16), strict=True):
        calls.args(call, "allreduce", n, n)
    assert calls.messages("bytes") == dict.fromkeys(both)
    assert [example for _, example in calls.told()] == [f"1 calls, such as {NCCL}: 16, 32 B"] * 2


def test_a_rank_without_args_has_the_size_of_the_others(calls):
    both = [calls.call(1, rank=rank, collective=5) for rank in (0, 1)]
    calls.args(both[0], "allreduce", 8, 8)
    assert calls.messages("bytes") == dict.fromkeys(both, 16)
    assert calls.told() == []


LLAMA = {"hidden_size": 256, "torch_dtype": "bfloat16"}


@pytest.mark.parametrize(
    ("config", "given", "size"),
    [
        (LLAMA, {}, 3 * 512),
        ({"text_config": {"hidden_size": 128, "dtype": "bfloat16"}, "hidden_size": 9}, {}, 3 * 256),
        (LLAMA, {"impl": "custom_1stage", "name": "reduce<half, 8>"}, 3 * 512),
        (LLAMA, {"phase": "draft"}, None),
        (LLAMA, {"category": "all_gather"}, None),
        (LLAMA, {"group_size": 4}, None),
        (LLAMA, {"step": 8}, None),
        ({**LLAMA, "torch_dtype": "float32"}, {"name": "shm_allreduce"}, None),
        ({**LLAMA, "hidden_size": "x"}, {}, None),
        ({**LLAMA, "hidden_size": -1}, {}, None),
    ],
)
def test_tokens_of_the_step_times_hidden_size(calls, config, given, size):
    calls.config(**config)
    calls.step(7, 3)
    call = calls.call(1, **{"step": 7, **given})
    assert calls.messages("bytes", "bytes_source") == {call: (size, "model" if size else None)}


def test_the_type_asked_for_beats_the_models():
    calls = Calls(context='{"command": ["vllm", "serve", "m", "--dtype", "half"]}')
    calls.config(**{**LLAMA, "torch_dtype": "float32"})
    calls.step(7, 3)
    call = calls.call(1, step=7, name="shm_allreduce")
    assert calls.messages("bytes", "dtype") == {call: (3 * 512, "Half")}


@pytest.mark.parametrize(("model", "size"), [("/m/target/", 512), ("a/draft", 64), (None, None)])
def test_of_two_models_the_one_that_is_served_counts(model, size):
    calls = Calls(model=model)
    calls.config("m/target/config.json", **LLAMA)
    calls.config("m/draft/config.json", **{**LLAMA, "hidden_size": 32})
    calls.step(7, 1)
    call = calls.call(1, step=7)
    assert calls.messages("bytes") == {call: size}


def test_shapes_come_before_the_model(calls):
    calls.config(**LLAMA)
    calls.step(7, 3)
    call = calls.call(1, step=7)
    calls.op("vllm::all_reduce", 0.4, 0.3, [[8]], [BF16])
    assert calls.messages("bytes", "bytes_source") == {call: (16, "shapes")}
