"""How a vLLM server is given tracekit's scopes: a folder on PYTHONPATH, nothing to install."""

import os
from collections.abc import Mapping
from pathlib import Path

PLUGIN = "tracekit_scopes"
FOLDER = Path(__file__).parent / "vllm_plugin"


def scopes_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Variables to add to a server's environment, so that its processes load the plugin.

    Source: vllm/plugins/__init__.py of 0.32; VLLM_PLUGINS, where set, is all that may be loaded.
    """
    path = env.get("PYTHONPATH")
    added = {"PYTHONPATH": f"{FOLDER}{os.pathsep}{path}" if path else str(FOLDER)}
    if "VLLM_PLUGINS" in env:
        names = [name for name in env["VLLM_PLUGINS"].split(",") if name]
        added["VLLM_PLUGINS"] = ",".join(dict.fromkeys([*names, PLUGIN]))
    return added
