"""Records a script that knows nothing of it: waits for torch, then for the best place to begin.

A recording begins, in each process that works with torch,

    1. when torch is imported, or the GPU first used where there is one: touching it earlier would
       fix CUDA_VISIBLE_DEVICES, and break scripts that fork before they use it
    2. anew at the first call of a model: what came before was loading
    3. anew after `warmup` steps of an optimizer; then it holds `steps` of them, and is over

The first two end after `seconds`, all where memory runs out. What runs when the script ends is
written, also where the script ends by an error, sys.exit or SIGTERM.
"""

import functools
import json
import os
import sys
import weakref
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from tracekit_torch_session import Session, Settings, Stage

VARIABLE = "TRACEKIT_TORCH"
"""Environment variable with the `Settings` of the capture, as JSON."""

LAUNCHERS = {"torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate"}
"""Programs that import torch only to start the processes that work with it."""

session: Session | None = None
"""That of this process; `tracekit.profile` asks it to give way."""


def install() -> None:
    """Wait for torch, where this process belongs to a capture and is no launcher."""
    global session
    settings = os.environ.get(VARIABLE)
    if settings and program(sys.orig_argv) not in LAUNCHERS:
        session = Session(Settings(**json.loads(settings)))
        sys.meta_path.insert(0, _AfterImport("torch", Triggers(session).attach))


def program(argv: Sequence[str]) -> str:
    """File name or module that an interpreter's command line runs."""
    words = iter(argv[1:])
    for word in words:
        if word == "-m":
            return next(words, "")
        if word in ("-X", "-W"):
            next(words, None)
        elif word == "-c" or not word.startswith("-"):
            return Path(word).name
    return ""


class Triggers:
    """What of torch tells that a better place to begin has come."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._optimizer: Callable[[], object] = lambda: None
        self._n_steps = 0
        self._model_hook: Any = None

    def attach(self) -> None:
        """Listen, where this process is the first in its place; called when torch is imported."""
        import torch

        _after(torch.distributed, "init_process_group", self._attach_claimed)
        self._attach_claimed()

    def _attach_claimed(self) -> None:
        if not self._session.claim():
            return
        from torch.autograd import profiler
        from torch.nn.modules.module import register_module_forward_pre_hook

        _before(profiler.profile, "_prepare_trace", self._session.make_room)
        self._session.scopes.watch(profiler.record_function)
        self._model_hook = register_module_forward_pre_hook(self._on_model)
        self._watch_optimizers()
        self._begin_early()

    def _begin_early(self) -> None:
        import torch

        def begin() -> None:
            self._session.begin(Stage.TORCH)

        if _is_gpu_there() and (torch.version.cuda or torch.version.hip):
            torch.cuda._lazy_call(begin)
        else:
            begin()

    def _on_model(self, module: object, inputs: object) -> None:
        self._model_hook.remove()  # it would cost a microsecond in each call of each layer
        self._session.begin(Stage.MODEL)

    def _watch_optimizers(self) -> None:
        """Be told of each step once it has ended: torch's own hooks are called within its scope."""
        from torch.optim.optimizer import Optimizer

        wrap = Optimizer.profile_hook_step  # torch calls it for `step` of each class of optimizers

        def wrap_and_tell(step: Callable[..., Any]) -> Callable[..., Any]:
            scoped = wrap(step)

            @functools.wraps(scoped)
            def told(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
                result = scoped(optimizer, *args, **kwargs)
                self._on_optimizer_step(optimizer)
                return result

            return told

        Optimizer.profile_hook_step = staticmethod(wrap_and_tell)

    def _on_optimizer_step(self, optimizer: object) -> None:
        self._optimizer = self._optimizer if self._optimizer() else weakref.ref(optimizer)
        if self._optimizer() is optimizer:  # of several that step in turn, the first counts
            self._n_steps += 1
            self._step(self._n_steps - self._session.settings.warmup)

    def _step(self, n_recorded: int) -> None:
        if n_recorded == 0:
            self._session.begin(Stage.OPTIMIZER)
        elif 0 < n_recorded < self._session.settings.steps:
            self._session.step()
        elif n_recorded == self._session.settings.steps:
            self._session.finish()


class _AfterImport(MetaPathFinder):
    """Calls `then` once a module is imported, whoever imports it."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name = name
        self._then = then

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            self._extend(spec.loader)
        return spec

    def _extend(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._then()

        loader.exec_module = exec_module


def _after(owner: Any, name: str, then: Callable[[], None]) -> None:
    """Have `then` called after each call of a function, where there is one."""
    original = getattr(owner, name, None)
    if original is None:  # torch built without torch.distributed
        return

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        then()
        return result

    setattr(owner, name, wrapped)


def _before(owner: Any, name: str, first: Callable[[], None]) -> None:
    original = getattr(owner, name, None)
    if original is None:  # torch before 2.1 starts a profiler in another way
        return

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        first()
        return original(*args, **kwargs)

    setattr(owner, name, wrapped)


def _is_gpu_there() -> bool:
    """Whether the machine has a device of NVIDIA's (WSL has dxg), or of AMD's."""
    return any(any(Path("/dev").glob(name)) for name in ("nvidia[0-9]*", "kfd", "dxg"))
