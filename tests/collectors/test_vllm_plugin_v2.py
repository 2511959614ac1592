"""The plugin around a stub of vLLM's second model runner, which needs a GPU to run itself."""

import pytest
import vllm_stub

STEP = """
import torch.autograd, torch.profiler
from vllm.v1.worker.gpu.model_runner import GPUModelRunner, Speculator
runner = GPUModelRunner(Speculator())
runner.load_model()
"""
PROFILED = f"{STEP}\ntorch.autograd.is_on = True\n"
SAMPLED = ["+sample", "+logits", "-logits", "-sample", "+sample", "-sample"]
DRAFTED = ["+draft", "-draft"]


@pytest.fixture
def vllm(tmp_path):
    vllm_stub.write(tmp_path, vllm_stub.TORCH | vllm_stub.PACKAGES | vllm_stub.V2_FILES)
    return tmp_path


def answer_of(folder, code):
    answer, stderr = vllm_stub.run(folder, code)
    assert stderr == ""
    return answer


def replace(folder, name, old, new):
    path = folder / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("mode", ["full", "piecewise", "microbatches", "eager"])
def test_each_way_to_run_the_model_is_one_forward_scope(vllm, mode):
    code = f"{PROFILED}answer = [runner.execute_model({mode!r}), torch.profiler.events]"
    hidden = "replayed" if mode == "full" else ["hidden", [7]]
    assert answer_of(vllm, code) == [hidden, ["+forward", "-forward"]]


def test_logits_lie_within_sampling_and_the_drafters_graphs_are_no_forward(vllm):
    code = f"""{PROFILED}
runner.execute_model("full")
answer = [runner.sample_tokens([1]), torch.profiler.events[2:]]"""
    assert answer_of(vllm, code) == [[2], SAMPLED + DRAFTED]


def test_a_runner_without_drafts_has_no_draft_scope(vllm):
    code = f"""{PROFILED}
runner.speculator = None
runner.execute_model("full")
runner.sample_tokens([1])
answer = torch.profiler.events[2:]"""
    assert answer_of(vllm, code) == SAMPLED


def test_without_a_profiler_nothing_opens_and_no_object_is_touched(vllm):
    code = f"""{STEP}
runner.execute_model("eager")
runner.sample_tokens([1])
answer = [torch.profiler.events, list(vars(runner.model)), list(vars(runner.speculator))]"""
    assert answer_of(vllm, code) == [[], [], ["manager"]]


def test_a_model_that_raises_leaves_no_scope_open(vllm):
    code = f"""{PROFILED}
try:
    runner.execute_model("eager")
    runner.model(unknown=1)
except TypeError:
    answer = torch.profiler.events"""
    assert answer_of(vllm, code) == ["+forward", "-forward"] * 2


def test_names_of_0_20_are_known_too(vllm):
    replace(vllm, vllm_stub.V2, "postprocess_sampled", "postprocess")
    replace(vllm, vllm_stub.V2, "from vllm.v1.worker.gpu.ubatch_utils import UBatchRunner", "")
    replace(vllm, vllm_stub.V2, "self.ubatch_runner = UBatchRunner()", "")
    replace(vllm, vllm_stub.V2_GRAPHS, "run_pw_graph", "_later")
    code = f"""{PROFILED}
runner.speculator = None
runner.execute_model("eager")
runner.sample_tokens([1])
answer = torch.profiler.events"""
    assert answer_of(vllm, code) == ["+forward", "-forward", *SAMPLED]


def test_a_runner_without_one_of_the_names_gets_one_warning_and_no_scopes(vllm):
    replace(vllm, vllm_stub.V2_GRAPHS, "class ModelCudaGraphManager", "class ModelGraphs")
    replace(vllm, vllm_stub.V2, "CudaGraphManager, ModelCudaGraphManager", "ModelGraphs")
    replace(vllm, vllm_stub.V2, "ModelCudaGraphManager()", "ModelGraphs()")
    replace(vllm, vllm_stub.V2, "CudaGraphManager()", "ModelGraphs()")
    code = f"""{PROFILED}
runner.execute_model("eager")
answer = torch.profiler.events"""
    answer, warning = vllm_stub.run(vllm, code)
    assert answer == []
    assert warning.count("tracekit:") == warning.count("\n") == 1
    assert "ModelCudaGraphManager.run_fullgraph" in warning
