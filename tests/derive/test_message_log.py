"""NCCL's log to kernels: calls in order, templates of graphs; what is not told stays open."""

import pytest
from messages import SECOND, Calls

HIDDEN = 256
CAPTURED = [(6, 8 * HIDDEN), (6, 4 * HIDDEN), (6, 2 * HIDDEN), (6, HIDDEN)]
"""Three calls a pass; each size warmed up and captured, largest first."""


@pytest.fixture
def calls():
    return Calls()


def config(calls):
    calls.config(hidden_size=HIDDEN, torch_dtype="bfloat16")


def test_the_only_size_that_fits_is_a_graphs(calls):
    calls.log((3, 1000), (6, 100))
    found = calls.replay(10)
    assert calls.messages("bytes", "bytes_source") == dict.fromkeys(found, (200, "nccl_log"))
    assert calls.told() == []


def test_a_size_seen_twice_in_a_row_comes_before_a_single_pass(calls):
    calls.log((3, 1000), (6, 100), (3, 2000))
    found = calls.replay(10)
    assert calls.messages("bytes") == dict.fromkeys(found, 200)


def test_a_single_pass_will_do_where_no_size_is_seen_twice(calls):
    calls.log((3, 100), (1, 7))
    found = calls.replay(10)
    assert calls.messages("bytes") == dict.fromkeys(found, 200)


@pytest.mark.parametrize(("tokens", "padded"), [(1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (8, 8)])
def test_tokens_of_the_step_choose_the_smallest_graph_that_holds_them(calls, tokens, padded):
    config(calls)
    calls.log((3, 64 * HIDDEN), *CAPTURED)
    calls.step(10, tokens)
    found = calls.replay(10, phase="verify")
    told = (padded * HIDDEN * 2, "nccl_log", 2)
    assert calls.messages("bytes", "bytes_source", "group_size") == dict.fromkeys(found, told)


def test_more_tokens_than_any_graph_holds_leave_the_log_out(calls):
    config(calls)
    calls.log(*CAPTURED)
    calls.step(10, 9)
    found = calls.replay(10)
    assert calls.messages("bytes_source") == dict.fromkeys(found, "model")


def test_channels_of_the_kernel_tell_sizes_apart(calls):
    calls.log(*CAPTURED[1:])
    for size, n_channels in ((4, 4), (2, 2), (1, 1)):
        calls.tuning(size * HIDDEN * 2, n_channels=n_channels)
    found = calls.replay(10, grid=2)
    told = (2 * HIDDEN * 2, "RING", "LL", 2)
    columns = "bytes", "algorithm", "protocol", "channels"
    assert calls.messages(*columns) == dict.fromkeys(found, told)


def test_channels_that_contradict_the_tokens_leave_it_open(calls):
    config(calls)
    calls.log(*CAPTURED)
    for size, n_channels in ((8, 4), (4, 4), (2, 2), (1, 1)):
        calls.tuning(size * HIDDEN * 2, n_channels=n_channels)
    calls.step(10, 2)
    found = calls.replay(10, grid=4)
    assert calls.messages("bytes_source") == dict.fromkeys(found, "model")


def test_sizes_that_nothing_tells_apart_are_told_not_guessed(calls):
    calls.log(*CAPTURED[2:])
    found = calls.replay(10, phase="draft")
    assert calls.messages("bytes") == dict.fromkeys(found)
    assert calls.told() == [(0, "3 all_reduce, such as replays of 3 calls: 256, 512 elements fit")]


def test_tokens_of_a_step_do_not_tell_its_drafts(calls):
    config(calls)
    calls.log(*CAPTURED)
    calls.step(10, 1)
    found = calls.replay(10, phase="draft")
    assert calls.messages("bytes") == dict.fromkeys(found)


def test_a_graph_that_replays_another_number_lost_events(calls):
    calls.log((6, 100))
    whole, cut = calls.replay(10), calls.replay(20, n=2)
    assert calls.messages("bytes") == dict.fromkeys([*whole, *cut])
    assert [example for _, example in calls.told()] == [
        "5 all_reduce, such as replays of 3 calls: 100 elements fit"
    ]


def test_small_graphs_of_a_forward_are_one_pass(calls):
    calls.log((6, 100), (2, 7))
    found = [calls.call(10 + i, graph=(i, i), step=4) for i in range(3)]
    assert calls.messages("bytes") == dict.fromkeys(found, 200)


def test_each_rank_has_its_own_log(calls):
    calls.log((6, 100), rank=1)
    zero, one = (calls.replay(10, rank=rank) for rank in (0, 1))
    assert calls.messages("bytes") == {**dict.fromkeys(zero), **dict.fromkeys(one, 200)}


def test_ranks_of_a_second_group_count_from_its_first(calls):
    calls.log((6, 100), rank=1)
    found = calls.replay(10, rank=3)
    assert calls.messages("bytes") == dict.fromkeys(found, 200)


def test_what_nccl_says_twice_counts_once(calls):
    calls.log((6, 100))
    calls.log((6, 100), source="call")
    found = calls.replay(10)
    assert calls.messages("bytes") == dict.fromkeys(found, 200)


def run_of(calls, world_size, *hosts):
    """The run's world, and the host of each rank's trace."""
    calls.con.execute("UPDATE run SET world_size = $1", [world_size])
    calls.con.execute("DELETE FROM file WHERE file_id >= $1", [len(hosts)])
    for rank, host in enumerate(hosts):
        sql = "UPDATE file SET kind = 'trace', host_name = $1 WHERE file_id = $2"
        calls.con.execute(sql, [host, rank])


def test_a_log_with_more_ranks_than_the_run_is_not_its_own(calls):
    run_of(calls, 2, "a", "a")
    calls.log((6, 100), n_ranks=16)
    found = calls.replay(10)
    assert calls.messages("bytes", "group_size") == dict.fromkeys(found, (None, 2))
    assert calls.told() == [(200, "a communicator of 16 ranks, in a run of 2")]


def test_choices_of_a_stranger_are_not_used(calls):
    run_of(calls, 2, "b", "b")
    calls.log((6, 100))
    calls.tuning(200)
    call = calls.call(1)
    calls.args(call, "allreduce", 100, 100)
    assert calls.messages("bytes", "algorithm") == {call: (200, None)}
    assert calls.told() == [(200, "its host is a, that of the traces b")]


@pytest.mark.parametrize(
    ("hosts", "logged", "is_used"),
    [
        (("node-1.lan", "node-2.lan"), "node-3", False),
        (("node-1.lan", "node-2.lan"), "node-2", True),
        (("node_1", "node_1"), "node-1", True),
        (("Node-1", "Node-1"), "node-1.example.org", True),
        (("node-1", None), "node-3", True),
    ],
)
def test_a_log_of_a_host_without_traces_is_of_another_run(calls, hosts, logged, is_used):
    run_of(calls, 2, *hosts)
    calls.log((6, 100), host=logged)
    found = calls.replay(10)
    assert calls.messages("bytes") == dict.fromkeys(found, 200 if is_used else None)
    assert bool(calls.told()) == (not is_used)


def test_custom_kernels_are_not_in_the_log(calls):
    calls.log((6, 100))
    found = calls.replay(10, impl="custom_1stage")
    assert calls.messages("bytes") == dict.fromkeys(found)


def eager(calls, *starts, **given):
    return [calls.call(start, **given) for start in starts]


def test_eager_calls_go_in_order(calls):
    calls.log((1, 8), (1, 16), (1, 24), at=5.4)
    found = eager(calls, 6, 7, 8)
    assert calls.messages("bytes") == dict(zip(found, (16, 32, 48), strict=True))


@pytest.mark.parametrize("hours", [-8, 5.5, 0])
def test_stamps_of_another_zone_are_set_right(calls, hours):
    calls.log((1, 8), (1, 16), at=5.4 + hours * 3600)
    found = eager(calls, 6, 7)
    assert calls.messages("bytes") == dict(zip(found, (16, 32), strict=True))


def test_what_was_launched_before_the_window_is_the_line_before_it(calls):
    calls.con.execute("UPDATE file SET window_start_ns = $1", [round(5.7 * SECOND)])
    calls.log((1, 4), (1, 8), (1, 16), at=4.4)
    found = [calls.call(5.8, is_launched=False), *eager(calls, 7)]
    assert calls.messages("bytes") == dict(zip(found, (16, 32), strict=True))


def test_without_stamps_all_lines_have_to_be_there(calls):
    calls.log((1, 8), (1, 16))
    found = eager(calls, 6, 7)
    assert calls.messages("bytes") == dict(zip(found, (16, 32), strict=True))


@pytest.mark.parametrize("at", [None, 5.4])
def test_another_number_of_lines_tells_nothing(calls, at):
    calls.log((1, 8), (1, 16), at=at)
    found = eager(calls, 6, 7, 8)
    assert calls.messages("bytes") == dict.fromkeys(found)
    assert calls.told() == [(0, "3 all_reduce, such as calls of another number")]


def test_communicators_that_fit_alike_must_agree(calls):
    calls.log((1, 8), (1, 16), at=5.4)
    calls.log((1, 8), (1, 32), at=5.4, comm="0xb")
    first, second = eager(calls, 6, 7)
    assert calls.messages("bytes") == {first: 16, second: None}
    assert calls.told() == [(0, "1 all_reduce, such as calls of 16, 32 elements")]


def test_calls_with_args_are_in_another_communicators_lines(calls):
    calls.log((2, 8), at=5.4)
    first, second, third = eager(calls, 6, 6.5, 7)
    calls.args(second, "allreduce", 100, 100)
    assert calls.messages("bytes") == {first: 16, second: 200, third: 16}
