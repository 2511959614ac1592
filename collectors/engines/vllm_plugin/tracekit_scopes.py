"""Profiler scopes around the parts of a vLLM step: a plugin that `tracekit capture` adds.

Runs in vLLM's own Python and imports nothing of tracekit. vLLM loads it in every process of a
server; only a worker imports a model runner, so the wrapping waits for that import and the plugin
costs the other processes nothing. A vLLM without the names below gets one warning and no scopes.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import logging
import os
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder

FORWARD = "tracekit: forward"
LOGITS = "tracekit: logits"
SAMPLE = "tracekit: sample"
DRAFT = "tracekit: draft"


@dataclass(frozen=True)
class Target:
    """A method to wrap; of several names, those of different versions, the first one found."""

    owner: str
    names: tuple[str, ...]
    scope: str
    is_required: bool = True


@dataclass(frozen=True)
class Runner:
    """What to wrap in one of vLLM's model runners, whose class is GPUModelRunner.

    methods: of classes that the module defines or imports; all required ones, or none is wrapped.
    objects: of what an attribute of the running instance holds, or its method returns.
    """

    module: str
    methods: tuple[Target, ...]
    objects: tuple[Target, ...]


# Source: the packages of 0.20 to 0.32; docs/vllm_scopes.md is the table, made from these names.
V1 = Runner(
    module="vllm.v1.worker.gpu_model_runner",
    methods=(
        Target("GPUModelRunner", ("_model_forward",), FORWARD),
        Target("GPUModelRunner", ("_sample",), SAMPLE),
        Target("GPUModelRunner", ("propose_draft_token_ids",), DRAFT),
    ),
    objects=(Target("get_model", ("compute_logits",), LOGITS),),
)
V2 = Runner(  # its target pass has no method of its own: each way to run the model is wrapped
    module="vllm.v1.worker.gpu.model_runner",
    methods=(
        Target("ModelCudaGraphManager", ("run_fullgraph",), FORWARD),
        Target("ModelCudaGraphManager", ("run_pw_graph",), FORWARD, is_required=False),
        Target("UBatchRunner", ("run",), FORWARD, is_required=False),
        Target("GPUModelRunner", ("sample",), SAMPLE),
        Target("GPUModelRunner", ("postprocess_sampled", "postprocess"), SAMPLE),
    ),
    objects=(
        Target("get_model", ("forward",), FORWARD),
        Target("get_model", ("compute_logits",), LOGITS),
        Target("get_model", ("compute_logits_local",), LOGITS, is_required=False),
        Target("speculator", ("propose",), DRAFT),
    ),
)
RUNNERS = (V1, V2)

_STEP = Target("GPUModelRunner", ("execute_model",), scope="")
NEEDED = (_STEP, Target("GPUModelRunner", ("get_model",), scope=""))
_WARNED = "TRACEKIT_SCOPES_WARNED"  # inherited, so that the processes of a server warn once
_open: set[str] = set()  # one thread of a process is profiled


def register() -> None:
    """Entry point: sees to it that a model runner is wrapped when it is imported."""
    if _RunnerFinder in sys.meta_path:
        return
    if not any(map(_is_there, RUNNERS)):
        _warn("has neither " + " nor ".join(runner.module for runner in RUNNERS))
        return
    for runner in RUNNERS:
        if runner.module in sys.modules:
            wrap(runner, sys.modules[runner.module])
    sys.meta_path.insert(0, _RunnerFinder)


def wrap(runner: Runner, module: types.ModuleType) -> None:
    """Wraps the runner's methods in its imported module, or warns and leaves all as it is."""
    wanted = (*runner.methods, *NEEDED)
    found = {target: _method_of(module, target) for target in wanted}
    if missing := [t for t, method in found.items() if method is None and t.is_required]:
        names = ", ".join(f"{t.owner}.{' or '.join(t.names)}" for t in missing)
        _warn(f"has no {names} in {runner.module}")
        return
    try:
        for target in runner.methods:
            _wrap_method(found[target], target.scope)
        _wrap_step(found[_STEP], runner.objects)
    except (AttributeError, ImportError, TypeError) as error:
        _warn(f"cannot be wrapped: {error}")


class _RunnerFinder:
    """Finds the runners' modules as Python does, and has them wrapped once they have run."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        runner = next((runner for runner in RUNNERS if runner.module == name), None)
        spec = PathFinder.find_spec(name, path, target) if runner else None
        if runner is None or spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_wrap(module: types.ModuleType) -> None:
            execute(module)
            wrap(runner, module)

        spec.loader.exec_module = execute_and_wrap  # type: ignore[method-assign]
        return spec


@dataclass(frozen=True)
class _Method:
    owner: type
    name: str
    function: Callable[..., object]


def _method_of(module: types.ModuleType, target: Target) -> _Method | None:
    owner = getattr(module, target.owner, None)
    for name in target.names:
        function = inspect.getattr_static(owner, name, None)
        if isinstance(owner, type) and isinstance(function, types.FunctionType):
            return _Method(owner, name, function)
    return None


def _wrap_method(method: _Method | None, scope: str) -> None:
    # Set on the class asked for, so that a base which the drafter's manager shares stays as it is.
    if method is not None and not hasattr(method.function, "tracekit_scope"):
        setattr(method.owner, method.name, _scoped(method.function, scope))


def _wrap_step(step: _Method | None, objects: tuple[Target, ...]) -> None:
    """Has the first profiled step wrap what the runner holds.

    By then everything is loaded, compiled and captured, by whichever subclass and load_model.
    """
    from torch.autograd import _profiler_enabled as is_profiling

    if step is None or hasattr(step.function, "tracekit_scope"):
        return
    execute_model = step.function

    @functools.wraps(execute_model)
    def with_objects_wrapped(self: object, *args: object, **kwargs: object) -> object:
        if is_profiling():
            for target in objects:
                _wrap_object(_held(self, target.owner), target)
        return execute_model(self, *args, **kwargs)

    with_objects_wrapped.tracekit_scope = ""  # type: ignore[attr-defined]
    setattr(step.owner, step.name, with_objects_wrapped)


def _held(runner: object, attribute: str) -> object:
    held = getattr(runner, attribute, None)
    return held() if isinstance(held, types.MethodType) else held


def _wrap_object(owner: object, target: Target) -> None:
    # A bound method, unlike a closure over one, follows a deep copy of its object. The forward of
    # an instance rather than hooks: they would leave the scope open when the model raises.
    method = getattr(owner, target.names[0], None)
    if isinstance(method, types.MethodType) and not hasattr(method, "tracekit_scope"):
        scoped = _scoped(method.__func__, target.scope)
        setattr(owner, target.names[0], types.MethodType(scoped, method.__self__))


def _scoped(function: Callable[..., object], scope: str) -> Callable[..., object]:
    from torch.autograd import _profiler_enabled as is_profiling
    from torch.compiler import is_compiling  # asked first: Dynamo cannot trace the other question
    from torch.profiler import record_function

    @functools.wraps(function)
    def scoped(*args: object, **kwargs: object) -> object:
        if is_compiling() or not is_profiling() or scope in _open:
            return function(*args, **kwargs)
        _open.add(scope)
        try:
            with record_function(scope):
                return function(*args, **kwargs)
        finally:
            _open.discard(scope)

    scoped.tracekit_scope = scope  # type: ignore[attr-defined]
    return scoped


def _is_there(runner: Runner) -> bool:
    try:
        return importlib.util.find_spec(runner.module) is not None
    except ModuleNotFoundError:  # a package above it is missing
        return False


def _warn(what: str) -> None:
    if _WARNED in os.environ:
        return
    os.environ[_WARNED] = "1"
    version = getattr(sys.modules.get("vllm"), "__version__", "of this version")
    logging.getLogger("vllm.tracekit_scopes").warning(
        "tracekit: vLLM %s %s; its traces get no scopes of tracekit's, "
        "VLLM_CUSTOM_SCOPES_FOR_PROFILING=1 gives those of vLLM's own where it has some",
        version,
        what,
    )
