import json
from pathlib import Path

import pytest
from database import memory_database

from tracekit.errors import RunError
from tracekit.readers.context import describe, insert_files, insert_run, setup_of_log
from tracekit.readers.serve_command import Setup, setup_of_command
from tracekit.run import discover

SHARED = Path(__file__).parents[3] / "shared" / "traces"
TRACE = '{"traceEvents": []}'
VLLM_LOG = (
    "(EngineCore pid=2) INFO 11-29 12:04:01 [core.py:133] Initializing a V1 LLM engine (v0.32.0) "
    "with config: model='/m/llama', speculative_config=SpeculativeConfig(method='eagle3', "
    "model='/m/draft', num_spec_tokens=3), tokenizer='/m/llama', tensor_parallel_size=8, x=1\n"
)
SGLANG_LOG = (
    "[2025-11-06 01:22:00] server_args=ServerArgs(model_path='/m/qwen', tokenizer_path='/m/qwen', "
    "tp_size=4, speculative_algorithm='EAGLE3', speculative_num_steps=3, speculative_eagle_topk=1, "
    "speculative_num_draft_tokens=4)\n"
)


@pytest.fixture
def con():
    with memory_database() as con:
        yield con


def described(con, folder, *, metadata=(), **files):
    """Context of a folder of one trace per `metadata` and of `files` ({stem: text or object})."""
    folder.mkdir()
    for rank, said in enumerate(metadata or [{}]):
        (folder / f"rank{rank}.json").write_text(TRACE)
        con.execute(
            "INSERT INTO file (run, file_id, path, kind, dp, rank, bytes, metadata) "
            "VALUES (?, ?, ?, 'trace', 0, ?, 1, ?)",
            [folder.name, rank, f"rank{rank}.json", rank, json.dumps(said)],
        )
    for stem, text in files.items():
        name = "run.json" if stem == "run" else f"{stem}.log"
        (folder / name).write_text(text if isinstance(text, str) else json.dumps(text))
    (inputs,) = discover([folder])
    return describe(con, inputs)


def test_run_json_of_a_capture_tells_everything(con, tmp_path):
    run_json = {
        "format": 1,
        "synthetic": True,
        "engine": {"name": "vllm", "version": "0.33.0"},
        "model": "Kimi",
        "tensor_parallel": 8,
        "speculative": {"method": "eagle3", "num_speculative_tokens": 3},
        "command": ["vllm", "serve", "other", "-tp", "2"],
        "windows": [],
    }
    context = described(con, tmp_path / "a", run=run_json, server=VLLM_LOG)
    assert context.setup == Setup("vllm", "0.33.0", "Kimi", 8, "eagle3", 3)
    assert context.is_synthetic
    assert json.loads(context.context) == run_json


def test_later_format_is_refused(con, tmp_path):
    with pytest.raises(RunError, match="run.json: format 2, this tracekit reads 1; upgrade"):
        described(con, tmp_path / "a", run={"format": 2})


def test_command_says_what_members_do_not_and_the_log_the_rest(con, tmp_path):
    run_json = {"model": "Kimi", "cmd": ["vllm", "serve", "m", "--tensor-parallel-size=4"]}
    context = described(con, tmp_path / "a", run=run_json, server=VLLM_LOG)
    assert context.setup == Setup("vllm", "0.32.0", "Kimi", 4, "eagle3", 3)
    assert not context.is_synthetic


def test_log_tells_where_there_is_no_run_json(con, tmp_path):
    context = described(con, tmp_path / "a", server=VLLM_LOG)
    assert context.setup == Setup("vllm", "0.32.0", "/m/llama", 8, "eagle3", 3)
    assert context.context is None


def test_traces_tell_what_nothing_else_does(con, tmp_path):
    metadata = [{"vllm_version": "0.33.0", "distributedInfo": {"world_size": 2}}] * 2
    context = described(con, tmp_path / "a", metadata=metadata)
    assert context.setup == Setup("vllm", "0.33.0")
    insert_run(con, context)
    assert con.sql("SELECT world_size FROM run").fetchall() == [(2,)]


def test_version_of_the_traces_joins_the_model_of_the_command(con, tmp_path):
    run_json = {"command": ["vllm", "serve", "m"]}
    context = described(con, tmp_path / "a", run=run_json, metadata=[{"vllm_version": "0.33.0"}])
    assert context.setup == Setup("vllm", "0.33.0", "m")


def test_lone_trace_tells_nothing(con, tmp_path):
    context = described(con, tmp_path / "a")
    assert context.setup == Setup()
    insert_run(con, context)
    row = con.sql("SELECT run, source, engine, world_size, is_synthetic, context FROM run")
    assert row.fetchall() == [("a", str(tmp_path / "a"), None, None, False, None)]


@pytest.mark.parametrize(
    "said",
    [
        {"engine": "vllm", "model": 7, "tensor_parallel": "two", "speculative": [], "command": {}},
        {"tensor_parallel": 10**30, "speculative": {"num_speculative_tokens": -1}},
        {"tensor_parallel": True, "model": "", "engine": {"name": None}, "cmd": [1, None]},
        {"synthetic": "yes", "speculative": {"method": {}}},
    ],
)
def test_members_of_a_wrong_type_tell_nothing(con, tmp_path, said):
    context = described(con, tmp_path / "a", run=said)
    assert context.setup == Setup()
    assert not context.is_synthetic


def test_hostile_texts_reach_the_table_as_they_are(con, tmp_path):
    model = """'); DROP TABLE run; --<b>\n\u0001"""
    insert_run(con, described(con, tmp_path / "a", run={"model": model, "x": "\ud800"}))
    assert con.sql("SELECT model FROM run").fetchall() == [(model,)]
    insert_run(con, described(con, tmp_path / "b", run={"model": "half \ud800"}))
    assert con.sql("SELECT model FROM run WHERE run = 'b'").fetchall() == [(r"half \ud800",)]


def test_other_files_are_listed_after_the_traces(con, tmp_path):
    folder = tmp_path / "a"
    described(con, folder, server=VLLM_LOG, what="?", run={})
    (inputs,) = discover([folder])
    insert_files(con, inputs)
    rows = con.sql("SELECT file_id, path, kind, bytes FROM file WHERE kind <> 'trace' ORDER BY 1")
    assert rows.fetchall() == [
        (1, "run.json", "run_json", 2),
        (2, "server.log", "server_log", len(VLLM_LOG)),
        (3, "what.log", "other", 1),
    ]


def test_what_run_json_lists_is_of_no_unknown_kind(con, tmp_path):
    listed = {"machine.log": "context", "load.log": "server_log", "rest.log": "other"}
    texts = dict.fromkeys(("machine", "load", "rest", "what"), "?")
    described(con, tmp_path / "a", **texts, run={"files": listed})
    (inputs,) = discover([tmp_path / "a"])
    insert_files(con, inputs)
    rows = con.sql("SELECT path FROM file WHERE kind = 'other'").fetchall()
    assert rows == [("what.log",)]


@pytest.mark.parametrize(
    ("log", "setup"),
    [
        (VLLM_LOG, Setup("vllm", "0.32.0", "/m/llama", 8, "eagle3", 3)),
        (
            "INFO 01-14 03:08:50 llm_engine.py:234] Initializing an LLM engine (v0.6.6) with "
            "config: model='q', speculative_config=None, tensor_parallel_size=1, a=b\n",
            Setup("vllm", "0.6.6", "q", 1),
        ),
        (SGLANG_LOG, Setup("sglang", None, "/m/qwen", 4, "eagle3", 3)),
        (
            "[x] server_args=ServerArgs(model_path='q', tp_size=1, speculative_algorithm=None, "
            "speculative_num_steps=None, speculative_num_draft_tokens=None)\n",
            Setup("sglang", None, "q", 1),
        ),
        ("INFO 01-14 03:08:50 nothing of the kind\n", Setup()),
        ("", Setup()),
    ],
)
def test_server_logs(log, setup):
    assert setup_of_log("first line\n" + log + "last line\n") == setup


SPECULATIVE = '{"method": "eagle3", "model": "d", "num_speculative_tokens": 3}'


@pytest.mark.parametrize(
    ("command", "setup"),
    [
        ("vllm serve m", Setup("vllm", None, "m")),
        ("/venv/bin/vllm serve m -tp 8", Setup("vllm", None, "m", 8)),
        ("vllm serve --model m --tensor_parallel_size=8", Setup("vllm", None, "m", 8)),
        ("vllm serve m -tp=2 -tp 4", Setup("vllm", None, "m", 4)),
        ("nsys profile -o x python -m vllm.entrypoints.openai.api_server --model m",
         Setup("vllm", None, "m")),
        (["vllm", "serve", "m", "--speculative-config", SPECULATIVE],
         Setup("vllm", None, "m", None, "eagle3", 3)),
        (["vllm", "serve", "m", f"-sc={SPECULATIVE}"],
         Setup("vllm", None, "m", None, "eagle3", 3)),
        ("vllm serve m --speculative-config.method ngram "
         "--speculative-config.num_speculative_tokens=5",
         Setup("vllm", None, "m", None, "ngram", 5)),
        ("vllm serve m --speculative-config {broken", Setup("vllm", None, "m")),
        ("vllm serve m --speculative-config [1]", Setup("vllm", None, "m")),
        ("vllm serve --enforce-eager -tp", Setup("vllm")),
        ("vllm", Setup("vllm")),
        ("python -m sglang.launch_server --model-path q --tp 4 --speculative-algorithm EAGLE3 "
         "--speculative-num-steps 3 --speculative-num-draft-tokens 4",
         Setup("sglang", None, "q", 4, "eagle3", 3)),
        ("sglang serve --model q --tp-size 2 --speculative-algorithm NGRAM",
         Setup("sglang", None, "q", 2, "ngram")),
        ("python train.py --model m", Setup()),
        ("", Setup()),
    ],
)  # fmt: skip
def test_commands(command, setup):
    words = command.split() if isinstance(command, str) else command
    assert setup_of_command(words) == setup


@pytest.mark.skipif(not SHARED.is_dir(), reason="recorded runs are not here")
def test_recorded_servers(con):
    by_name = {}
    for inputs in discover([SHARED / "vllm_cpu"], each=True):
        setup = describe(con, inputs).setup
        assert (setup.engine, setup.engine_version) == ("vllm", "0.32.0")
        by_name[inputs.name] = (
            setup.tensor_parallel,
            setup.speculative_method,
            setup.num_speculative_tokens,
        )
    assert by_name["tp2-draft-noisy"] == (2, "draft_model", 3)
    assert by_name["tp2-gloo-baseline"] == (2, None, None)
    assert by_name["offline-ngram"] == (1, "ngram", 3)
