"""What a benchmark is asked for, against what torch and the machine allow."""

import json
import sys
from dataclasses import replace

import pytest
from scripts import FAKE_TORCH

from tracekit.collectors.bench import plan as plans
from tracekit.collectors.bench.plan import Delay, Place, Plan, TorchFacts, place_of, torch_of
from tracekit.collectors.bench.sizes import Calls
from tracekit.collectors.context.memory import MemoryRoom
from tracekit.collectors.run_folder import RunFolder
from tracekit.errors import CaptureError

GB = 10**9
TORCH = TorchFacts("python", "2.9.0", ("gloo", "nccl"), n_gpus=2, gpu_bytes=80 * GB)


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.setattr(plans, "memory_room", lambda: MemoryRoom("MemAvailable", 24 * GB, 20 * GB))
    return Plan(
        folder=RunFolder(tmp_path / "b"),
        torch=TORCH,
        backend="gloo",
        n_ranks=2,
        dtype="bfloat16",
        sizes=(1024,),
        burst=(),
        like=None,
        warmups=1,
        repetitions=3,
        n_recorded=5,
        has_graph=False,
        delay=None,
        timeout_s=60.0,
        replaces=False,
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"torch": replace(TORCH, backends=("gloo",)), "backend": "nccl"}, "has gloo; choose"),
        ({"torch": replace(TORCH, backends=())}, "has no backend; choose"),
        ({"backend": "nccl", "n_ranks": 3}, "--ranks 3: NCCL needs .* 2 are here"),
        ({"delay": Delay(2, 1000)}, "--delay-rank 2: the ranks are 0 to 1"),
        ({"sizes": (1023,)}, "1023 bytes: no whole number of bfloat16"),
        ({"sizes": (), "burst": (Calls(2, 6),), "dtype": "float32"}, "6 bytes: no whole number"),
        ({"sizes": (4 << 30,)}, "the message takes 26.6 GB, 18.8 GB of this machine"),
        ({"backend": "nccl", "sizes": (32 << 30,)}, "takes 103.1 GB, 80.0 GB of a GPU"),
    ],
)
def test_what_cannot_be_is_refused(plan, changes, reason):
    with pytest.raises(CaptureError, match=reason):
        replace(plan, **changes).refuse_impossible(None)


def test_ranks_of_other_hosts_need_no_gpu_here(plan):
    spread = replace(plan, backend="nccl", n_ranks=16)
    spread.refuse_impossible(Place(0, 16, 2))
    with pytest.raises(CaptureError, match="2 are here"):
        spread.refuse_impossible(Place(0, 16, 8))


@pytest.mark.parametrize(
    ("changes", "place", "n_cores"),
    [
        ({}, None, None),
        ({"n_ranks": 3}, None, 2),
        ({"n_ranks": 3}, Place(0, 3, 2), None),
        ({"n_ranks": 3, "backend": "nccl"}, None, None),
    ],
)
def test_ranks_that_take_turns_on_cores_are_known(plan, monkeypatch, changes, place, n_cores):
    monkeypatch.setattr(plans.os, "sched_getaffinity", lambda _: {0, 1})
    assert replace(plan, **changes).shared_cores(place) == n_cores


@pytest.mark.parametrize(("calls", "recorded"), [(127, 5), (1250, 4), (4096, 1)])
def test_a_long_burst_is_recorded_less_often(plan, calls, recorded):
    long = replace(plan, burst=(Calls(calls, 2),))
    assert json.loads(long.settings())["n_recorded"] == recorded


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({}, None),
        ({"RANK": "1", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}, Place(1, 4, 2)),
        ({"RANK": "1", "WORLD_SIZE": "4"}, Place(1, 4, 4)),
    ],
)
def test_ranks_that_run_already_are_known_by_their_environment(environment, place):
    master = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"} if environment else {}
    assert place_of({**environment, **master}) == place


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"RANK": "1"}, "RANK=1 WORLD_SIZE=: no rank"),
        ({"RANK": "4", "WORLD_SIZE": "4"}, "no rank of that many"),
        ({"RANK": "x", "WORLD_SIZE": "4"}, "no rank of that many"),
        ({"RANK": "1", "WORLD_SIZE": "4"}, "MASTER_ADDR: not set"),
    ],
)
def test_half_an_environment_is_refused(environment, reason):
    with pytest.raises(CaptureError, match=reason):
        place_of(environment)


def test_torch_is_asked_for_what_it_can_do():
    found = torch_of(sys.executable, {"PYTHONPATH": str(FAKE_TORCH)})
    assert found == TorchFacts(sys.executable, "2.9.0", ("gloo",), 0, None)
    assert (found.backend, TORCH.backend) == ("gloo", "nccl")


@pytest.mark.parametrize(
    ("python", "reason"),
    [
        (sys.executable, "no torch in it .*; name one that has it with --python"),
        ("/missing/python", "not found; name a Python that has torch"),
        ("/bin/false", "exit code 1; name a Python"),
        ("/bin/echo", "does not answer as a Python does"),
    ],
)
def test_a_python_without_torch_is_refused(tmp_path, python, reason):
    without = tmp_path / "torch.py"
    without.write_text("raise ImportError('none')")
    with pytest.raises(CaptureError, match=reason):
        torch_of(python, {"PYTHONPATH": str(tmp_path)})
