"""What of vLLM, SGLang and PyTorch can be captured here."""

import shutil
from collections.abc import Iterator, Mapping

from tracekit.collectors.context.interpreter import interpreter_of
from tracekit.collectors.context.nccl_log import has_timestamps
from tracekit.collectors.context.versions import versions_of
from tracekit.collectors.doctor.finding import Finding
from tracekit.collectors.engines.vllm import ITERATION_LOG
from tracekit.collectors.engines.vllm_installed import InstalledVllm, installed_vllm
from tracekit.collectors.engines.vllm_profiler import has_config
from tracekit.errors import CaptureError

_ATTACH = "tracekit capture --url URL --trace-dir DIR takes one that runs elsewhere"


def engine_findings(environment: Mapping[str, str]) -> Iterator[Finding]:
    """vLLM and SGLang as commands on PATH, then torch of the Python there."""
    path = environment.get("PATH")
    yield _vllm(environment) if shutil.which("vllm", path=path) else _absent("vLLM", "vllm")
    yield _sglang(environment) if shutil.which("sglang", path=path) else _absent("SGLang", "sglang")
    name = "python" if shutil.which("python", path=path) else "python3"
    versions = versions_of((name,), environment)
    yield _torch(name, versions)
    yield from _nccl(_serving_versions(environment) or versions)


def _absent(topic: str, command: str) -> Finding:
    remedy = f"put the bin folder of its environment on PATH, or pip install {command}; {_ATTACH}"
    return Finding(topic, "missing", f"no {command} on PATH", remedy)


def _vllm(environment: Mapping[str, str]) -> Finding:
    python = interpreter_of(("vllm",), 0, environment)
    try:
        installed = installed_vllm(python, environment)
    except CaptureError as error:
        return Finding("vLLM", "warning", str(error), "repair its environment")
    switch = _switch(installed)
    if switch is None:
        remedy = "install vLLM 0.10 or later"
        return Finding("vLLM", "missing", f"{installed.version}: no profiler to switch", remedy)
    found = f"{installed.version} of {' '.join(python)}; profiler by {switch}"
    if ITERATION_LOG not in installed.observability_fields:
        remedy = "vLLM 0.14 or later logs it; until then latency comes from counters"
        return Finding("vLLM", "warning", f"{found}; no log of each step's time", remedy)
    if "detailed_trace_annotation" not in installed.profiler_fields:
        remedy = "vLLM 0.26 or later tells them per step; until then counters of the window do"
        return Finding("vLLM", "warning", f"{found}; no emitted tokens per step", remedy)
    return Finding("vLLM", "ok", f"{found}; time and emitted tokens of each step")


def _switch(installed: InstalledVllm) -> str | None:
    if has_config(installed):
        return "--profiler-config"
    return "VLLM_TORCH_PROFILER_DIR" if "VLLM_TORCH_PROFILER_DIR" in installed.variables else None


def _sglang(environment: Mapping[str, str]) -> Finding:
    python = interpreter_of(("sglang",), 0, environment)
    versions = versions_of(python, environment)
    if version := versions.get("sglang"):
        return Finding(
            "SGLang", "ok", f"{version} of {' '.join(python)}; profiler by /start_profile"
        )
    found = str(versions.get("problem", f"{' '.join(python)} has no sglang"))
    return Finding("SGLang", "warning", found, "repair its environment")


def _torch(name: str, versions: Mapping[str, object]) -> Finding:
    remedy = "activate the environment that your script runs in, and run tracekit doctor again"
    if problem := versions.get("problem"):
        return Finding("PyTorch", "missing", str(problem), remedy)
    if not (version := versions.get("torch")):
        return Finding("PyTorch", "missing", f"{name} on PATH has no torch", remedy)
    build = [f"{part} {versions[part]}" for part in ("cuda", "hip") if versions.get(part)]
    found = f"{version} of {name} on PATH, for {', '.join(build) or 'CPU'}"
    return Finding("PyTorch", "ok", f"{found}; --engine torch")


def _serving_versions(environment: Mapping[str, str]) -> Mapping[str, object] | None:
    if not shutil.which("vllm", path=environment.get("PATH")):
        return None
    return versions_of(interpreter_of(("vllm",), 0, environment), environment)


def _nccl(versions: Mapping[str, object]) -> Iterator[Finding]:
    version = versions.get("nccl")
    if not isinstance(version, str):
        return
    if has_timestamps(version):
        yield Finding("NCCL", "ok", f"{version}; --nccl-log has the time of each call")
    else:
        remedy = "NCCL 2.26 or later stamps each line"
        yield Finding("NCCL", "warning", f"{version}; --nccl-log has no times", remedy)
