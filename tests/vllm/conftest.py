import os
import subprocess
from pathlib import Path

import pytest
from cpu_server import vllm_python

HERE = Path(__file__).parent
TIMEOUT_S = 400


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Folder of the tiny models, see spec_models.py."""
    folder = tmp_path_factory.mktemp("models")
    env = os.environ | {"PYTHONPATH": str(HERE.parents[1] / "sample_traces")}
    command = [vllm_python(), HERE / "spec_models.py", folder]
    subprocess.run(command, env=env, check=True, timeout=TIMEOUT_S)
    return folder
