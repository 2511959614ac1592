"""The config.json of the models that a command serves, copied beside the traces."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tracekit.collectors.run_folder import RunFolder
from tracekit.readers.serve_command import options_of, setup_of_command

DRAFTS = ("speculative-config", "speculative-draft-model-path")
"""Options that name the model which drafts: vLLM's, in an object, and SGLang's."""


def copy_configs(command: Sequence[str], environment: Mapping[str, str], folder: RunFolder) -> None:
    """Copy those that are on this machine: in a model's folder, or in the cache of the hub."""
    for model in _models(command):
        config = _config(model, environment)
        if config is not None:
            target = folder.path / "models" / Path(model).name
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(config, target / config.name)


def _models(command: Sequence[str]) -> Iterator[str]:
    target = setup_of_command(command).model
    options = options_of(command)
    yield from filter(None, (target, *(_draft(options.get(option, "")) for option in DRAFTS)))


def _draft(value: str) -> str | None:
    try:
        said = json.loads(value)
    except ValueError:  # no object, but the model itself
        return value
    model = said.get("model") if isinstance(said, dict) else None
    return model if isinstance(model, str) else None


def _config(model: str, environment: Mapping[str, str]) -> Path | None:
    """Source: huggingface_hub's layout, `models--ORG--NAME/snapshots/REVISION/config.json`."""
    home = Path(environment.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(environment.get("HF_HUB_CACHE") or home / "hub")
    cached = (hub / f"models--{model.replace('/', '--')}" / "snapshots").glob("*/config.json")
    found = [path for path in (Path(model) / "config.json", *cached) if path.is_file()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)
