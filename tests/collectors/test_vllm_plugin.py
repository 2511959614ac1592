"""The plugin around modules shaped like vLLM's, each in a process of its own."""

import os

import pytest
import vllm_stub

from tracekit.collectors.engines.vllm_scopes import FOLDER, scopes_environment

ALL_PARTS = ["+forward", "-forward", "+logits", "-logits", "+sample", "-sample", "+draft", "-draft"]
STEP = """
import torch.autograd, torch.profiler
from vllm.v1.worker.cpu_model_runner import CPUModelRunner  # inherits what is wrapped
runner = CPUModelRunner()
def step():
    logits = runner.execute_model([7])
    runner.sample_tokens(logits)
    return logits
"""
PROFILED = f"{STEP}\ntorch.autograd.is_on = True\n"


@pytest.fixture
def vllm(tmp_path):
    vllm_stub.write(tmp_path, vllm_stub.TORCH | vllm_stub.PACKAGES | vllm_stub.V1_FILES)
    return tmp_path


def answer_of(folder, code, **options):
    answer, stderr = vllm_stub.run(folder, code, **options)
    assert stderr == ""
    return answer


def without(folder, name, what):
    path = folder / name
    text = path.read_text()
    assert what in text
    path.write_text(text.replace(what, what.replace("def ", "def former")))


def test_each_part_of_a_profiled_step_has_its_scope(vllm):
    code = f"{PROFILED}answer = [step(), torch.profiler.events]"
    assert answer_of(vllm, code) == [["target", ["hidden", [7]]], ALL_PARTS]


def test_without_a_profiler_no_scope_opens_and_the_model_stays_untouched(vllm):
    code = f"{STEP}answer = [step(), torch.profiler.events, list(vars(runner.model))]"
    assert answer_of(vllm, code) == [["target", ["hidden", [7]]], [], ["name"]]


def test_a_wrapped_method_keeps_its_name_signature_and_docstring(vllm):
    code = f"""{STEP}
import inspect
method = CPUModelRunner._model_forward
answer = [method.__name__, method.__doc__, str(inspect.signature(method))]"""
    assert answer_of(vllm, code) == [
        "_model_forward",
        "Calls the model.",
        "(self, input_ids=None, positions=None, **model_kwargs)",
    ]


def test_an_exception_passes_and_leaves_no_scope_open(vllm):
    code = f"""{PROFILED}
try:
    runner.sample_tokens(None)
except ValueError as error:
    answer = [str(error), list(torch.profiler.events)]
runner.sample_tokens([])
answer.append(torch.profiler.events[2:])"""
    expected = ["no logits", ["+sample", "-sample"], ["+sample", "-sample", "+draft", "-draft"]]
    assert answer_of(vllm, code) == expected


def test_every_profiled_step_has_one_scope_of_each(vllm):
    code = f"{PROFILED}step(); step()\nanswer = torch.profiler.events"
    assert answer_of(vllm, code) == ALL_PARTS * 2


def test_loaded_twice_the_plugin_wraps_once(vllm):
    twice = vllm_stub.LOAD_PLUGINS * 2
    code = f"{PROFILED}step()\nanswer = torch.profiler.events"
    assert answer_of(vllm, code, load=twice) == ALL_PARTS


def test_a_runner_that_was_imported_before_is_wrapped_too(vllm):
    late = "import vllm.v1.worker.gpu_model_runner" + vllm_stub.LOAD_PLUGINS
    code = f"{PROFILED}step()\nanswer = torch.profiler.events"
    assert answer_of(vllm, code, load=late) == ALL_PARTS


def test_loading_the_plugin_imports_neither_torch_nor_a_runner(vllm):
    code = "answer = [name for name in sys.modules if name == 'torch' or 'runner' in name]"
    assert answer_of(vllm, code) == []


def test_a_copy_of_a_wrapped_model_computes_its_own_logits(vllm):
    code = f"""{PROFILED}
import copy
step()
draft = copy.deepcopy(runner.model)
draft.name = "draft"
answer = draft.compute_logits([])"""
    assert answer_of(vllm, code) == ["draft", []]


def test_a_wrapped_method_can_be_compiled(vllm):
    code = f"""{PROFILED}
step()
torch.profiler.events.clear()
torch.compiler.is_on = True
answer = [runner._model_forward(), runner.model.compute_logits([]), torch.profiler.events]"""
    assert answer_of(vllm, code) == [["hidden", None], ["target", []], []]


@pytest.mark.parametrize("name", ["_model_forward", "_sample", "execute_model", "get_model"])
def test_a_vllm_without_one_of_the_names_gets_one_warning_and_no_scopes(vllm, name):
    without(vllm, vllm_stub.V1, f"def {name}(")
    code = f"""{STEP}
torch.autograd.is_on = True
answer = [runner.propose_draft_token_ids([1]), torch.profiler.events]"""
    answer, warning = vllm_stub.run(vllm, code)
    assert answer == [[1], []]
    assert warning.count("tracekit:") == 1
    assert f"vLLM 0.99.0 has no GPUModelRunner.{name} in vllm.v1.worker.gpu_mod" in warning
    assert warning.count("\n") == 1


def test_a_vllm_without_a_runner_that_is_known_gets_one_warning_in_all_its_processes(tmp_path):
    vllm_stub.write(tmp_path, vllm_stub.TORCH | vllm_stub.PACKAGES)
    child = f"subprocess.run([sys.executable, '-c', {vllm_stub.LOAD_PLUGINS!r}], check=True)"
    answer, warning = vllm_stub.run(tmp_path, f"import subprocess, vllm\n{child}\nanswer = 0")
    assert answer == 0
    assert warning.count("tracekit:") == warning.count("\n") == 1
    assert "has neither vllm.v1.worker.gpu_model_runner nor" in warning


def test_a_torch_without_the_names_gets_one_warning_and_no_scopes(vllm):
    (vllm / "torch" / "autograd.py").write_text("")
    code = f"{STEP}answer = [step(), torch.profiler.events]"
    answer, warning = vllm_stub.run(vllm, code)
    assert answer == [["target", ["hidden", [7]]], []]
    assert warning.count("tracekit:") == warning.count("\n") == 1


def test_the_folder_goes_before_what_the_user_has_on_the_path():
    assert scopes_environment({}) == {"PYTHONPATH": str(FOLDER)}
    added = scopes_environment({"PYTHONPATH": os.pathsep.join(["/mine", "/yours"])})
    assert added == {"PYTHONPATH": os.pathsep.join([str(FOLDER), "/mine", "/yours"])}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("mine", "mine,tracekit_scopes"),
        ("mine,tracekit_scopes", "mine,tracekit_scopes"),
        ("", "tracekit_scopes"),  # set and empty: vLLM loads no plugin at all
    ],
)
def test_a_users_list_of_plugins_is_kept_and_gets_ours(before, after):
    assert scopes_environment({"VLLM_PLUGINS": before})["VLLM_PLUGINS"] == after
