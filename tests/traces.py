"""Kineto traces by hand, in round microseconds: launches, their kernels, scopes on the host."""

import json
from itertools import count

from database import memory_run

GEMM = "nvjet_tst_64x8_64x16_4x1_v_bz_TNT"
NORM = "void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(c10::BFloat16*)"
ALL_REDUCE = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)"
DTOH = "Memcpy DtoH (Device -> Pinned)"
HTOD = "Memcpy HtoD (Pinned -> Device)"


class Trace:
    """Events of one rank; a call made with `launch=None` is missing from the trace."""

    def __init__(self, rank=0, host="node-a", base_ns=1_700_000_000_000_000_000, device=True):
        self.rank, self.host, self.base_ns, self.device = rank, host, base_ns, device
        self.events = []
        self.correlations = count(1)

    def add(self, cat, name, start, dur, tid=1, **args):
        event = {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": start, "dur": dur}
        self.events.append({**event, "args": args})
        return self

    def scope(self, name, start, dur, tid=1):
        return self.add("user_annotation", name, start, dur, tid)

    def op(self, name, start, dur, tid=1):
        return self.add("cpu_op", name, start, dur, tid)

    def run(self, name, launch, start, dur, stream=7, tid=1, **args):
        """One activity and the call that launched it; `args` are those of the activity."""
        activity = (name, start, dur, stream)
        return self.graph([activity], launch, tid, "cudaLaunchKernel", **args)

    def graph(self, activities, launch, tid=1, call="cudaGraphLaunch", **more):
        """Activities (name, start, dur, stream) of one launch call."""
        correlation = next(self.correlations)
        if launch is not None:
            self.add("cuda_runtime", call, launch, 1, tid, correlation=correlation)
        for name, start, dur, stream in activities:
            cat = "gpu_memcpy" if name.startswith("Memcpy") else "kernel"
            args = {"device": 0, "stream": stream, "correlation": correlation, **more}
            self.add(cat, name, start, dur, stream, **args)
        return self

    def write(self, folder):
        path = folder / f"rank{self.rank}.{len(self.events)}.pt.trace.json"
        document = {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "Made-up GPU"}] if self.device else [],
            "distributedInfo": {} if self.rank is None else {"rank": self.rank, "world_size": 8},
            "host_name": self.host,
            "baseTimeNanoseconds": self.base_ns,
            "traceEvents": self.events,
        }
        path.write_text(json.dumps(document))
        return path


def ingest(folder, *traces):
    """The traces as one run `r`, in a database in memory."""
    return memory_run(*(trace.write(folder) for trace in traces))


def decode(trace, start, lead=10, tokens=1, n=1):
    """One decode step of vLLM V1: its span on the host, a GEMM and a copy of its output."""
    trace.scope(f"execute_context_0(0)_generation_{n}({tokens})", start, 20)
    trace.run(GEMM, start + 5, start + lead, 30)
    return trace.run(DTOH, start + 30, start + lead + 30, 1, stream=9)
