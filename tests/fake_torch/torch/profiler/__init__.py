import json
import os
import sys
import time
from enum import Enum
from pathlib import Path

from torch import distributed
from torch.autograd import profiler


class ProfilerAction(Enum):
    NONE = 0
    RECORD = 2


class profile:
    """One step begins with the window, each `step` begins another; all of it on the CPU."""

    def __init__(self, schedule=None, record_shapes=False, with_stack=False, profile_memory=False):
        assert schedule is None or schedule(0) is ProfilerAction.RECORD
        self._kineto = profiler.profile()
        self._starts = []
        self.record_steps = schedule is not None
        self._asked = {"record_shapes": record_shapes, "with_stack": with_stack}
        self._metadata = {}

    def start(self):
        self._kineto._prepare_trace()
        if distributed.is_initialized():
            rank, size = distributed.get_rank(), distributed.get_world_size()
            self._metadata["distributedInfo"] = {"rank": rank, "world_size": size}
        if self.record_steps:
            self.step()

    def step(self):
        time.sleep(0.001)
        self._starts.append(time.time_ns() / 1000)

    def add_metadata_json(self, key, value):
        self._metadata[key] = json.loads(value)

    def stop(self):
        profiler.running.remove(self._kineto)
        self._starts.append(time.time_ns() / 1000)

    def export_chrome_trace(self, path):
        if os.environ.get("FAKE_TORCH") == "full disk":
            text = '{"traceEvents": [{'
        else:
            trace = {"deviceProperties": [], "traceEvents": list(self._events())}
            text = json.dumps({**trace, **self._metadata, **self._asked, "script": sys.argv[0]})
        Path(path).write_text(text)

    def _events(self):
        place = {"ph": "X", "pid": os.getpid(), "tid": 1}
        for number, (start, end) in enumerate(zip(self._starts, self._starts[1:], strict=False)):
            name, dur = f"ProfilerStep#{number}", end - start
            yield {**place, "cat": "user_annotation", "name": name, "ts": start, "dur": dur}
            yield {**place, "cat": "cpu_op", "name": "aten::mm", "ts": start + 1, "dur": dur / 2}
