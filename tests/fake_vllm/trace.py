"""Trace files in the form that Kineto writes for the CPU backend."""

import gzip
import json

BASE_NS = 1790857026000000000


def write(path, document):
    """Write a trace as vLLM does: gzip unless its name says otherwise."""
    text = json.dumps(document).encode()
    path.write_bytes(gzip.compress(text, 1, mtime=0) if path.suffix == ".gz" else text)


def document(generation, profiler, events, host, rank=None, world_size=1):
    """A trace of one process; without a rank it is the front end's."""
    top = {"schemaVersion": 1, "deviceProperties": [], "trace_id": f"{id(events):032X}"}
    options = {"record_shapes": "torch_profiler_record_shapes"}
    options |= {"with_stack": "torch_profiler_with_stack"}
    options |= {"profile_memory": "torch_profiler_with_memory"}
    top |= {name: 1 for name, key in options.items() if profiler[key]}
    if rank is not None:
        ranks = list(range(world_size))
        group = {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cpu:gloo"}
        group |= {"pg_size": world_size, "ranks": ranks}
        top["distributedInfo"] = {"backend": "gloo", "rank": rank, "world_size": world_size}
        top["distributedInfo"] |= {"pg_count": 1, "pg_config": [group]}
    if generation.has(0, 32):
        top |= {"vllm_version": generation.version}
        top |= {"vllm_version_tuple": generation.version.split(".")}
    top |= {"host_name": host, "displayTimeUnit": "ms", "baseTimeNanoseconds": BASE_NS}
    return top | {"traceEvents": events, "traceName": "/scratch/tmp0.json"}


def head(pid, name, start_ns):
    """Metadata events: the process and its one thread."""
    event = {"ph": "M", "ts": _us(start_ns), "pid": pid}
    return [
        event | {"name": "process_name", "tid": 0, "args": {"name": name}},
        event | {"name": "process_labels", "tid": 0, "args": {"labels": "CPU"}},
        event | {"name": "thread_name", "tid": pid, "args": {"name": f"thread {pid} ({name})"}},
    ]


def tail(start_ns, end_ns):
    """The profiler's own span and the end of the window."""
    span = {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans"}
    span |= {"tid": "PyTorch Profiler", "ts": _us(start_ns), "dur": (end_ns - start_ns) / 1000}
    end = {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": ""}
    return [span | {"args": {"Op count": 0}}, end | {"ts": _us(end_ns)}]


def of_step(generation, profiler, step, pid, tensor_parallel, has_scopes):
    """Events of one step: its span, the scopes that are on, ops within and after it."""
    at = _Spans(step, pid, profiler["torch_profiler_record_shapes"])
    name = generation.annotation(step, profiler.get("detailed_trace_annotation", False))
    spans = [at("user_annotation", name, 0, 60)] if name else []
    if has_scopes:
        phases = [("preprocess", 1, 5), ("forward", 6, 50), ("sample", 62, 12), ("draft", 76, 18)]
        wanted = phases if step.n_draft_tokens else phases[:3]
        spans += [at("user_annotation", generation.scope(p), *where) for p, *where in wanted]
    spans.append(at("cpu_op", "aten::embedding", 7, 3))
    for layer in range(2):
        spans.append(at("cpu_op", "_C::onednn_mm", 11 + 20 * layer, 10))
        if tensor_parallel > 1:
            spans.append(at("cpu_op", "_C::shm_allreduce", 22 + 20 * layer, 6))
    is_verify = step.n_draft_tokens and step.generation
    rejection = "_C::rejection_greedy_sample_kernel_impl"
    spans.append(at("cpu_op", rejection if is_verify else "aten::argmax", 64, 8))
    if step.n_draft_tokens:
        spans.append(at("cpu_op", "_C::eagle_prepare_inputs_padded_kernel_impl", 77, 2))
        spans.append(at("cpu_op", "_C::onednn_mm", 80, 10))
    return spans


class _Spans:
    """Makes events of a step from places in per cent of it."""

    def __init__(self, step, pid, has_shapes):
        self._step, self._pid, self._has_shapes, self._count = step, pid, has_shapes, 0

    def __call__(self, category, name, start, length):
        dur_ns, self._count = self._step.dur_ns, self._count + 1
        args = {"External id": self._count, "Record function id": 0, "Ev Idx": self._count}
        if self._has_shapes and category == "cpu_op":
            args |= {"Input Dims": [[1, 64], [64, 64]], "Input type": ["float", "float"]}
        return {
            "ph": "X", "cat": category, "name": name, "pid": self._pid, "tid": self._pid,
            "ts": _us(self._step.start_ns + dur_ns * start // 100), "dur": dur_ns * length / 1e5,
            "args": args,
        }  # fmt: skip


def _us(ns):
    whole, rest = divmod(ns - BASE_NS, 1000)
    return float(f"{whole}.{rest:03d}")
