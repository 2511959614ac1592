"""The README's captures as a new user would type them, around stand-ins for the engines.

In place of what needs GPUs or a big model: the stand-ins for vLLM, SGLang and torch, a free port,
few steps. tests/vllm/test_readme_commands.py runs the same commands around real vLLM and torch.
"""

import re
import sys
from textwrap import dedent

import pytest
import readme
from free_port import free_port
from model_folders import LLAMA, llama_shapes, tokens, write_model
from scripts import FAKE_TORCH, TRAIN
from serving import serving
from user import User

STEPS = ("--steps", 6)
TORCHRUN = """
    import os, subprocess, sys
    _, n, *script = sys.argv[1:]
    ranks = [
        subprocess.Popen(
            [sys.executable, *script], env={**os.environ, "RANK": str(rank), "WORLD_SIZE": n}
        )
        for rank in range(int(n))
    ]
    sys.exit(max(rank.wait() for rank in ranks))
"""


@pytest.fixture
def user(tmp_path, vllm):
    return User(tmp_path, vllm().parent)


def port():
    return "--port", free_port()


def test_a_server_is_captured_by_what_stands_in_front_of_its_command(user):
    done = user.run(readme.words(readme.BASELINE, STEPS, port(), MODEL="m"))
    assert user.runs() == [("baseline", 8)]
    assert done.stdout.startswith("baseline   vLLM")
    assert "Without the profiler" in done.stdout
    kept = {path.name for path in (user.folder / "tracekit-runs" / "baseline").iterdir()}
    assert {"traces", "logs", "metrics", "load", "run.json"} <= kept


def test_each_concurrency_is_a_run(user):
    user.run(readme.words(readme.DRAFT, STEPS, port(), MODEL="m", DRAFT="d"))
    assert user.runs() == [("draft-c1", 8), ("draft-c16", 8), ("draft-c4", 8)]


def attach(user, trace_dir, inside, options=()):
    (user.folder / "traces").mkdir()
    number = free_port()
    server = readme.words(readme.SERVER, behind=("--port", number), MODEL="m", DIR=inside)
    places = {"8000": number, "DIR": trace_dir, "NAME": "mine"}
    with serving(server, number, cwd=user.folder, env=user.env):
        user.run(readme.words(readme.ATTACH, [*STEPS, *options], **places))
    assert user.runs() == [("mine", 1)]


def test_a_server_that_runs_is_attached_to(user):
    attach(user, "traces", user.folder / "traces")


def test_a_container_knows_the_folder_by_another_name(user):
    (user.folder / "inside").symlink_to("traces")
    attach(user, f"traces={user.folder / 'inside'}", user.folder / "inside")


def test_a_load_command_of_the_users_own(user):
    load = readme.words(readme.LOAD.replace("...", "--num-prompts 2"))
    attach(user, "traces", user.folder / "traces", load)


def test_sglang(user, packages):
    words = readme.words(readme.SGLANG, STEPS, port(), MODEL="m", NAME="mine")
    user.run(words, PYTHONPATH=str(packages), FAKE_SGLANG="0.5.23")
    assert user.runs() == [("mine", 1)]


def test_torchrun(user):
    script = user.folder / "torchrun"
    script.write_text(f"#!{sys.executable}\n{dedent(TORCHRUN)}")
    script.chmod(0o755)
    (user.folder / "script.py").write_text(dedent(TRAIN.format(steps=9)))
    words = readme.words(readme.TORCH, STEPS, NAME="mine", torchrun=script)
    user.run(words, PYTHONPATH=str(FAKE_TORCH))
    assert user.runs() == [("mine", 2)]


def test_profile_in_code(user):
    loop = "    for _ in range(9):\n        profile.step()\n"
    code = f"import tracekit\n{readme.PROFILE}\n{loop}"
    user.run([sys.executable, "-c", code], PYTHONPATH=str(FAKE_TORCH))
    user.run(["tracekit", "ingest", "folder"])
    assert user.runs() == [("folder", 1)]


def test_what_went_wrong_is_one_line_and_what_is_there_is_read(user):
    words = readme.words(readme.BASELINE, STEPS, port(), MODEL="m")
    done = user.run(words, code=1, FAKE_VLLM="request-500=2")
    assert re.match(r"\S.*?: .+; .+", done.stderr.splitlines()[-1])
    user.run(readme.words(readme.INGEST, behind=["--replace"], NAME="baseline"))
    assert user.runs() == [("baseline", 8)]


def test_what_costs_time_is_switched_on(user):
    (user.folder / "prompts.txt").write_text("one\ntwo\n")
    costly = ("--shapes", "--stacks", "--allocations", "--nccl-log")
    load = ("--prompts", "prompts.txt", "--output-len", "4")
    user.run(readme.words(readme.BASELINE, [*STEPS, *costly, *load], port(), MODEL="m"))
    assert user.runs() == [("baseline", 8)]


def test_doctor_says_what_can_be_captured(user):
    told = user.run(readme.words(readme.DOCTOR)).stdout.splitlines()
    (vllm,) = (line for line in told if line.startswith("vLLM"))
    assert vllm.split()[:3] == ["vLLM", "ok", "0.32.0"]


def test_a_draft_is_checked_before_it_is_served(user):
    for name in ("target", "draft"):
        write_model(user.folder / name, LLAMA, llama_shapes(), tokens(100))
    told = user.run(readme.words(readme.CHECK_DRAFT, TARGET="target", DRAFT="draft")).stdout
    assert told.startswith("draft_model works")
