"""Modules named like vLLM's and torch's, as far as the scopes plugin looks, and how to run them."""

import json
import subprocess
import sys

from tracekit.collectors.engines.vllm_scopes import scopes_environment

TORCH = {
    "torch/__init__.py": "",
    "torch/autograd.py": """
        import torch.compiler
        is_on = False
        def _profiler_enabled():
            assert not torch.compiler.is_on  # Dynamo cannot trace this question
            return is_on
        """,
    "torch/compiler.py": """
        is_on = False
        def is_compiling(): return is_on
        """,
    "torch/profiler.py": """
        events = []
        class record_function:
            def __init__(self, name): self.name = name.removeprefix("tracekit: ")
            def __enter__(self): events.append("+" + self.name)
            def __exit__(self, *error): events.append("-" + self.name)
        """,
}
PACKAGES = {
    "vllm/__init__.py": "__version__ = '0.99.0'",
    "vllm/v1/__init__.py": "",
    "vllm/v1/worker/__init__.py": "",
}
V1 = "vllm/v1/worker/gpu_model_runner.py"
V1_FILES = {
    V1: """
        class Model:
            def __init__(self, name="target"): self.name = name
            def compute_logits(self, hidden): return (self.name, hidden)
        class GPUModelRunner:
            def __init__(self): self.model = Model()
            def get_model(self): return self.model
            def execute_model(self, tokens):
                hidden = self._model_forward(input_ids=tokens)
                return self.model.compute_logits(hidden)
            def sample_tokens(self, logits):
                self.propose_draft_token_ids(self._sample(logits, None))
            def _model_forward(self, input_ids=None, positions=None, **model_kwargs):
                "Calls the model."
                return ["hidden", input_ids]
            def _sample(self, logits, spec_decode_metadata):
                if logits is None: raise ValueError("no logits")
                return [1]
            def propose_draft_token_ids(self, sampled): return sampled
        """,
    "vllm/v1/worker/cpu_model_runner.py": """
        from vllm.v1.worker.gpu_model_runner import GPUModelRunner
        class CPUModelRunner(GPUModelRunner): pass
        """,
}
V2 = "vllm/v1/worker/gpu/model_runner.py"
V2_GRAPHS = "vllm/v1/worker/gpu/cudagraph_utils.py"
V2_FILES = {
    "vllm/v1/worker/gpu/__init__.py": "",
    V2_GRAPHS: """
        class CudaGraphManager:
            def run_fullgraph(self, desc): return "replayed"
            def run_pw_graph(self, model, model_inputs): return model(**model_inputs)
        class ModelCudaGraphManager(CudaGraphManager):
            def run_fullgraph(self, desc): return super().run_fullgraph(desc)
        """,
    "vllm/v1/worker/gpu/ubatch_utils.py": """
        class UBatchRunner:
            def run(self, model, model_inputs, ubatch_state): return model(**model_inputs)
        """,
    V2: """
        from vllm.v1.worker.gpu.cudagraph_utils import CudaGraphManager, ModelCudaGraphManager
        from vllm.v1.worker.gpu.ubatch_utils import UBatchRunner
        class Model:
            def __call__(self, **inputs): return self.forward(**inputs)
            def forward(self, input_ids): return ["hidden", input_ids]
            def compute_logits(self, hidden): return hidden
        class BaseSpeculator:
            def propose(self, sampled): raise NotImplementedError
        class Speculator(BaseSpeculator):
            def __init__(self): self.manager = CudaGraphManager()
            def propose(self, sampled):
                self.manager.run_fullgraph("draft")
                self.manager.run_pw_graph(lambda: None, {})
                return [2]
        class GPUModelRunner:
            def __init__(self, speculator=None):
                self.speculator = speculator
                self.cudagraph_manager = ModelCudaGraphManager()
                self.ubatch_runner = UBatchRunner()
            def load_model(self): self.model = Model()
            def get_model(self): return self.model
            def execute_model(self, mode):
                inputs = {"input_ids": [7]}
                if mode == "full": return self.cudagraph_manager.run_fullgraph(mode)
                if mode == "piecewise":
                    return self.cudagraph_manager.run_pw_graph(self.model, inputs)
                if mode == "microbatches": return self.ubatch_runner.run(self.model, inputs, None)
                return self.model(**inputs)
            def sample_tokens(self, hidden):
                sampled = self.sample(hidden, None, None)
                self.postprocess_sampled(None, sampled)
                if self.speculator is not None: return self.speculator.propose(sampled)
            def sample(self, hidden_states, input_batch, grammar_output):
                return self.model.compute_logits(hidden_states)
            def postprocess_sampled(self, idx_mapping, sampled_tokens): pass
        """,
}
LOAD_PLUGINS = """
import json, sys
from importlib.metadata import entry_points
for plugin in entry_points(group="vllm.general_plugins"):
    plugin.load()()
"""


def write(folder, files):
    """Writes modules; their text may be indented."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = text.strip("\n").splitlines()
        indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        path.write_text("".join(line[indent:] + "\n" for line in lines))


def run(folder, code, load=LOAD_PLUGINS):
    """What `code` leaves in `answer`, and what the process wrote to stderr.

    Plugins are loaded as vLLM does it; the environment is the one that a capture gives a server.
    """
    done = subprocess.run(
        [sys.executable, "-c", f"{load}\n{code}\nprint(json.dumps(answer))"],
        env=scopes_environment({"PYTHONPATH": str(folder)}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr
