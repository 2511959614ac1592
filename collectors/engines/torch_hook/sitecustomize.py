"""Python imports this at start-up: it waits for torch, and gives way to the user's own file."""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

import tracekit_torch_hook


def _run_the_one_behind() -> None:
    """Run the sitecustomize that this one hides: a distribution's, or a virtual environment's."""
    here = Path(__file__).parent.resolve()
    others = [folder for folder in sys.path if Path(folder).resolve() != here]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


tracekit_torch_hook.install()
_run_the_one_behind()
