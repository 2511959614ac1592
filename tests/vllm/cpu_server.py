"""How a real vLLM server is started on this machine's CPU."""

import os
from contextlib import contextmanager, suppress
from pathlib import Path

import readme
from free_port import free_port

TINY = ("--max-model-len", "1024", "--max-num-seqs", "8", "--dtype", "bfloat16", "--enforce-eager")
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "GLOO_SOCKET_IFNAME": "lo",
}


def vllm_python():
    """The interpreter that has vLLM."""
    python = os.environ.get("TRACEKIT_VLLM_PYTHON")
    assert python, "TRACEKIT_VLLM_PYTHON: not set; run `make test-vllm`"
    return Path(python)


def small(command, models, options=(), behind=(), tensor_parallel=1, target="tiny-llama"):
    """Words of a command of the README, and the port of the server that it starts.

    In place of a big model on eight GPUs it gets a tiny one and what makes a server small.
    """
    port = free_port()
    models = {"MODEL": models / target, "DRAFT": models / "tiny-eagle3"}
    behind = ("--host", "127.0.0.1", "--port", port, *TINY, "--no-enable-prefix-caching", *behind)
    places = {"tp 8": f"tp {tensor_parallel}"}
    return readme.words(command, options, behind, **models, **places), port


ENGINE = ("VLLM::EngineCore", "VLLM::Worker")
"""Titles of the processes that compute."""


@contextmanager
def pinned(engine_core, other_core):
    """Keeps this process and those it started on a core each: what computes on the first."""
    cores = os.sched_getaffinity(0)
    for process in _family(os.getpid()):
        with suppress(OSError):  # it has ended
            title = Path(f"/proc/{process}/cmdline").read_text()
            core = engine_core if title.startswith(ENGINE) else other_core
            for thread in Path(f"/proc/{process}/task").iterdir():
                os.sched_setaffinity(int(thread.name), {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def _family(pid):
    yield pid
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from _family(int(child))


def environment(tensor_parallel=1):
    """Of the server; its ranks are bound to cores of their own, from that of xdist's worker on.

    By itself vLLM binds all servers to the same one, where those of two workers then start in turn.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    cores = sorted(os.sched_getaffinity(0))
    chosen = [cores[i % len(cores)] for i in range(worker, worker + tensor_parallel)]
    return os.environ | ENVIRONMENT | {"VLLM_CPU_OMP_THREADS_BIND": "|".join(map(str, chosen))}
