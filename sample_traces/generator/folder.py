"""Writes a generated run as a run folder: traces, metrics, run.json and the truth beside them."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from generator.batch import Acceptance
from generator.nccl_log import NcclLog, lines
from generator.rank import MAIN_THREAD, Rank, us
from generator.run import MODEL, Run
from generator.truth_files import write_truth


def write(run: Run, out: Path) -> None:
    """Write the run folder `out`/NAME, in place of an earlier one."""
    folder = out / run.name
    if (folder / "truth").is_dir():
        shutil.rmtree(folder)
    for sub in ("traces", "truth"):
        (folder / sub).mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(_context(run), indent=2) + "\n", encoding="utf-8")
    for rank in run.ranks:
        _write_trace(run, rank, folder / "traces")
    write_truth(run, folder / "truth")
    if run.nccl_log:
        _write_nccl_logs(run, run.nccl_log, folder / "logs")
    for name, config in run.configs.items():
        _write_config(folder / "models" / name, config)
    if run.acceptance and run.engine == "vllm":
        _write_metrics(run.acceptance, folder / "metrics")


def _write_nccl_logs(run: Run, log: NcclLog, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for rank in run.ranks:
        path = folder / f"nccl.{rank.host_name}.{rank.pid}.log"
        path.write_text("\n".join(lines(log, rank, run.ranks)) + "\n", encoding="utf-8")


def _write_config(folder: Path, config: dict[str, object]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _context(run: Run) -> dict[str, object]:
    speculative = (
        {"method": run.method, "num_speculative_tokens": run.num_tokens} if run.method else None
    )
    return {
        "format": 1,
        "synthetic": True,
        "engine": {"name": run.engine, "version": run.version},
        "model": run.model,
        "tensor_parallel": run.tensor_parallel,
        "speculative": speculative,
    }


def _write_trace(run: Run, rank: Rank, folder: Path) -> None:
    stamp = rank.epoch(rank.window_end) + 7_000_000 + rank.device
    about = {"rank": rank.rank, "dp": rank.dp, "pid": rank.pid, "device": rank.device}
    path = folder / run.file_name.format(stamp=stamp, **about)
    head = json.dumps(_metadata(run, rank), indent=2)[:-2]
    events = [*_names(run, rank), *rank.host, *rank.device_events, *_window(rank)]
    tail = f'\n  ],\n  "traceName": "synthetic/{path.name}"\n}}\n'
    text = head + ',\n  "traceEvents": [\n  ' + ",\n  ".join(events) + tail
    # level 1 and no time stamp: the same bytes for the same seed, four times faster than 9
    path.write_bytes(gzip.compress(text.encode(), compresslevel=1, mtime=0))


def _metadata(run: Run, rank: Rank) -> dict[str, object]:
    world = len(run.ranks)
    group = {"pg_name": "0", "pg_desc": "default_pg", "pg_size": world, "ranks": [*range(world)]}
    properties = {"name": run.gpu, "totalGlobalMem": 85_028_765_696, "numSms": 114}
    return {
        "schemaVersion": 1,
        "synthetic": True,
        "synthetic_rank": {"dp": rank.dp, "rank": rank.rank},
        "deviceProperties": [{"id": r.device, **properties} for r in run.ranks],
        "distributedInfo": {
            "backend": "nccl",
            "rank": rank.device,
            "world_size": world,
            "pg_count": 1,
            "pg_config": [group],
            "nccl_version": "2.28.9",
        },
        "cupti_version": 130200,
        "with_stack": 1,
        "host_name": rank.host_name,
        **run.metadata,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": rank.base_ns,
    }


def _names(run: Run, rank: Rank) -> Iterable[str]:
    process, ts = run.process.format(rank=rank.rank, dp=rank.dp), rank.ts(rank.window_start)
    for pid, label in ((rank.pid, "CPU"), (rank.device, f"GPU {rank.device}")):
        yield _meta("process_name", ts, pid, 0, {"name": process})
        yield _meta("process_labels", ts, pid, 0, {"labels": label})
    yield _meta("thread_name", ts, rank.pid, MAIN_THREAD, {"name": f"thread {MAIN_THREAD}"})
    for stream in sorted({row.stream for row in rank.rows}):
        yield _meta("thread_name", ts, rank.device, stream, {"name": f"stream {stream} "})


def _meta(name: str, ts: str, pid: int, tid: int, args: dict[str, str]) -> str:
    return (
        f'{{"name": "{name}", "ph": "M", "ts": {ts}, "pid": {pid}, "tid": {tid}, '
        f'"args": {json.dumps(args)}}}'
    )


def _window(rank: Rank) -> Iterable[str]:
    start, dur = rank.ts(rank.window_start), us(rank.window_end - rank.window_start)
    yield (
        f'{{"ph": "X", "cat": "Trace", "ts": {start}, "dur": {dur}, "pid": "Spans", '
        '"tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 0}}'
    )
    yield (
        f'{{"ph": "X", "cat": "overhead", "name": "Activity Buffer Request", "pid": -1, "tid": 0, '
        f'"ts": {rank.ts(rank.window_start + 90_000)}, "dur": 55.678}}'
    )
    yield (
        '{"name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g", "pid": "Traces", '
        f'"tid": "Trace PyTorch Profiler", "ts": {start}}}'
    )
    yield (
        '{"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", '
        f'"ts": {rank.ts(rank.window_end)}}}'
    )


def _write_metrics(a: Acceptance, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    positions = [3600 - 700 * p for p in range(len(a.accepted))]
    start = [4210, 4210 * len(positions), sum(positions), *positions]
    gained = [a.drafts, a.draft_tokens, sum(a.accepted), *a.accepted]
    after = [s + g for s, g in zip(start, gained, strict=True)]
    (folder / "before.prom").write_text(_exposition(start), encoding="utf-8")
    (folder / "after.prom").write_text(_exposition(after), encoding="utf-8")


def _exposition(values: list[int]) -> str:
    labels = f'engine="0",model_name="{MODEL}"'
    names = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")
    lines = []
    for name, value in zip(names, values, strict=False):
        lines += _counter(name, [(labels, value)])
    positions = [(f'{labels},position="{p}"', v) for p, v in enumerate(values[3:])]
    return "\n".join(lines + _counter("num_accepted_tokens_per_pos", positions)) + "\n"


def _counter(name: str, samples: list[tuple[str, int]]) -> list[str]:
    metric = f"vllm:spec_decode_{name}"
    head = [f"# HELP {metric}_total Synthetic counter.", f"# TYPE {metric}_total counter"]
    return head + [f"{metric}_total{{{labels}}} {float(value)}" for labels, value in samples]
