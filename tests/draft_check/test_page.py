"""`tracekit check-draft` as a user sees it."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from model_folders import EAGLE3, KIMI, LLAMA, eagle3_shapes, llama_shapes, tokens, write_model

from tracekit.cli import main
from tracekit.cli.check_draft import METHODS
from tracekit.draft_check import METHODS as JUDGED

PAGE = Path(__file__).parents[2] / "docs" / "check_draft.md"


@pytest.fixture
def call(monkeypatch):
    def run(*words, exit_code=0, columns=80):
        monkeypatch.setenv("COLUMNS", str(columns))
        result = CliRunner().invoke(main, ["check-draft", *map(str, words)])
        assert result.exit_code == exit_code, result.output
        return result

    return run


def test_every_method_that_is_judged_can_be_asked_for():
    assert METHODS == JUDGED


def test_the_trap_of_the_documentation(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = LLAMA | {"vocab_size": 129280, "max_position_embeddings": 131072, "hidden_size": 2048}
    write_model(Path("kimi-k2"), KIMI, tokens=tokens(1000))
    write_model(Path("small-draft"), small, llama_shapes(small), tokens(1000)[::-1])
    shown = call("kimi-k2", "small-draft").stdout
    (block,) = re.findall(r"\$ tracekit check-draft .*?\n(.*?)```", PAGE.read_text(), re.S)
    assert block == shown


def test_verdicts_come_first_and_each_has_its_way_out(call, folders):
    config = LLAMA | {"num_hidden_layers": 4}
    target = folders.draft(config, llama_shapes(config), folder="four")
    lines = call(target, folders.draft(EAGLE3, eagle3_shapes())).stdout.splitlines()
    assert lines[0].startswith("draft_model fails")
    words = " ".join(" ".join(lines).split())
    assert "default layers (2, 2, 1) are 2 of the target's 4; its fc joins 3 -> write" in words


def test_next_is_the_capture_that_would_tell(call, folders):
    draft = folders.draft(EAGLE3, eagle3_shapes())
    last = call(folders.target, draft, "--db", "my.duckdb").stdout.splitlines()[-1]
    assert last.startswith("  tracekit capture --run eagle3 --db my.duckdb -- vllm serve ")
    config = json.loads(last.partition("--speculative-config '")[2].rstrip("'"))
    assert config == {"method": "eagle3", "num_speculative_tokens": 3, "model": str(draft)}


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_the_page_fits_its_width(call, folders, columns):
    shown = call(folders.target, folders.draft(LLAMA, llama_shapes()), columns=columns).stdout
    page = shown.partition("Next:")[0]
    assert max(map(len, page.splitlines())) <= max(columns, 62)


def test_no_command_serves_a_target_that_cannot_load(call, folders):
    (folders.target / "model.safetensors").write_bytes(b"")
    shown = call(folders.target, "--method", "ngram", exit_code=3).stdout
    assert shown.startswith("ngram       fails  target: model.safetensors: an empty file")
    assert "Next:" not in shown


def test_a_method_that_fails_is_a_gate(call, folders):
    draft = folders.draft(EAGLE3, eagle3_shapes())
    assert call(folders.target, draft, "--method", "eagle3").stdout.startswith("eagle3      works")
    assert call(folders.target, draft, "--method", "draft_model", exit_code=3).stdout
    assert call(folders.target, "--method", "ngram").exit_code == 0
    rows = json.loads(
        call(folders.target, draft, "--method", "eagle", "--format", "json", exit_code=3).stdout
    )
    assert [row["name"] for row in rows if row["kind"] == "verdict"] == ["eagle"]


def test_a_row_for_each_verdict_and_each_check(call, folders):
    draft = folders.draft(LLAMA, llama_shapes(), tokens(100))
    rows = json.loads(call(folders.target, draft, "--format", "json").stdout)
    assert [row["name"] for row in rows if row["kind"] == "verdict"] == list(METHODS)
    (vocabulary,) = (row for row in rows if row["name"] == "vocabulary")
    expected = {"kind": "check", "state": "same", "target": "100", "draft": "100"}
    assert vocabulary == expected | {"name": "vocabulary", "reason": "", "remedy": ""}
    lines = csv.DictReader(io.StringIO(call(folders.target, draft, "--format", "csv").stdout))
    assert [row["name"] for row in lines] == [row["name"] for row in rows]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("nothing",), 1, "nothing: no such folder; name one with a model's config.json"),
        ((".",), 1, "./config.json: no such file; name the folder of a model"),
        ((".", "--method", "eagle"), 1, "config.json"),
        ((), 2, "Missing argument"),
        ((".", "--method", "magic"), 2, "magic"),
    ],
)
def test_what_goes_wrong_is_one_line(call, tmp_path, monkeypatch, words, code, said):
    monkeypatch.chdir(tmp_path)
    error = call(*words, exit_code=code).stderr
    assert said in error
    assert code == 2 or len(error.splitlines()) == 1


def test_a_method_of_a_draft_needs_one(call, folders):
    assert "needs a DRAFT" in call(folders.target, "--method", "eagle", exit_code=2).stderr


def test_hostile_names_do_not_talk_to_the_terminal(call, folders):
    evil = LLAMA | {"architectures": ["\x1b[2J\n\u202eevil"], "torch_dtype": "\x07"}
    names = ["\x1b]0;x\x07" + name for name in tokens(100)]
    draft = folders.draft(evil, llama_shapes(), names)
    (draft / "tokenizer_config.json").write_text(json.dumps({"bos_token": "\x1b[31m\ud800"}))
    for form in ("table", "csv", "json"):
        shown = call(folders.target, draft, "--format", form).stdout
        assert shown.replace("\n", "").isprintable()
