"""The README's captures as a new user would type them, around real vLLM on this CPU.

In place of a big model on GPUs: tiny ones, at tensor parallel 1, with the arguments that make a
server small; a free port; few steps. The command for a baseline is run by test_capture.py, that for
torchrun by test_torch_run.py. SGLang cannot be installed on a CPU: tests/collectors has all of the
commands with stand-ins for the engines.
"""

import pytest
import readme
from cpu_server import environment, small, vllm_python
from serving import serving
from user import User

pytestmark = pytest.mark.vllm

STEPS = ("--steps", "8")
BENCH = "--dataset-name random --random-input-len 16 --random-output-len 8 --num-prompts 1"


@pytest.fixture
def user(tmp_path):
    return User(tmp_path, vllm_python().parent, **environment())


def test_each_concurrency_is_a_run(user, models):
    done = user.run(small(readme.DRAFT, models, STEPS)[0])
    assert "slower %" in done.stdout
    assert user.runs() == [("draft-c1", 1), ("draft-c16", 1), ("draft-c4", 1)]
    user.run(readme.words(readme.INGEST, behind=["--replace"], NAME="draft-c4"))


def test_a_server_that_runs_is_attached_to_with_either_load(user, models):
    (user.folder / "traces").mkdir()
    words, port = small(readme.SERVER.replace("DIR", str(user.folder / "traces")), models)
    places = {"8000": port, "DIR": "traces"}
    load = ("--warmups", 0, *readme.words(readme.LOAD.replace("...", BENCH)))
    with serving(words, port, env=user.env):
        user.run(readme.words(readme.ATTACH, STEPS, **places, NAME="own"))
        user.run(readme.words(readme.ATTACH, (*STEPS, *load), **places, NAME="bench"))
    assert user.runs() == [("bench", 1), ("own", 1)]
