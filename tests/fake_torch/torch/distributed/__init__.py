import json
import os
import time
from enum import Enum
from pathlib import Path

_state = {}


class ReduceOp(Enum):
    SUM = sum
    MAX = max
    MIN = min

    def __init__(self, of):
        self.of = of


class group:
    WORLD = "world"


def init_process_group(backend=None, init_method=None, timeout=None, rank=None, world_size=None):
    _state["rank"] = int(os.environ["RANK"]) if rank is None else rank
    _state["size"] = int(os.environ["WORLD_SIZE"]) if world_size is None else world_size
    _state["store"] = init_method and Path(init_method.removeprefix("file://"))
    _state["calls"] = 0


def destroy_process_group():
    _state.clear()


def is_available():
    return True


def is_gloo_available():
    return True


def is_nccl_available():
    return False


def is_initialized():
    return bool(_state)


def get_rank():
    return _state["rank"]


def get_world_size():
    return _state["size"]


def barrier(group=None):
    _exchanged([])


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    """By files; of more than a few numbers the first, since they are all alike."""
    told = os.environ.get("FAKE_ALL_REDUCE", "")
    if told.startswith(f"rank {get_rank()} ") and tensor.size > 1:
        _misbehave(told.split()[2])
    count = min(tensor.size, 512)
    columns = zip(*_exchanged(tensor.numbers[:count]), strict=True)
    tensor.numbers[:count] = [op.of(column) for column in columns]


def _misbehave(how):
    if how == "raises":
        raise RuntimeError("the wire is cut\nand more")
    if how == "dies":
        os.abort()
    if how == "hangs":
        time.sleep(600)


def _exchanged(numbers):
    """What each rank gives to this call, the ranks in their order."""
    _state["calls"] += 1
    files = [
        _state["store"].with_name(f"{_state['calls']}.{rank}") for rank in range(_state["size"])
    ]
    mine = files[_state["rank"]]
    draft = mine.with_suffix(f".draft{_state['rank']}")
    draft.write_text(json.dumps(numbers))
    draft.rename(mine)
    while not all(file.exists() for file in files):
        time.sleep(0.0005)
    return [json.loads(file.read_text()) for file in files]
