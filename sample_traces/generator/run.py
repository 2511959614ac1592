"""A finished run, ready to be written."""

from __future__ import annotations

from dataclasses import dataclass, field

from generator.batch import Acceptance
from generator.model import ACTIVE, EXPERTS, HIDDEN, VOCABULARY
from generator.nccl_log import NcclLog
from generator.rank import Rank, Row

MODEL = "Kimi-like int4 (synthetic)"
CONFIG: dict[str, object] = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "model_type": "kimi_k25",
    "text_config": {
        "model_type": "kimi_k2",
        "hidden_size": HIDDEN,
        "num_hidden_layers": 61,
        "vocab_size": VOCABULARY,
        "n_routed_experts": EXPERTS,
        "num_experts_per_tok": ACTIVE,
        "torch_dtype": "bfloat16",
    },
}
"""The model's config.json, as far as message sizes and experts need it."""

DRAFT_CONFIG: dict[str, object] = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "hidden_size": 4096,
    "num_hidden_layers": 1,
    "torch_dtype": "bfloat16",
}


@dataclass(slots=True)
class Run:
    """A finished run, ready to be written.

    `configs`: config.json of each model by folder. `stragglers`: step, rank, and whether its
    `host` or its `device` is slow there.
    """

    name: str
    ranks: list[Rank]
    engine: str = "vllm"
    version: str = "0.32.0"
    tensor_parallel: int = 2
    method: str | None = None
    num_tokens: int = 0
    acceptance: Acceptance | None = None
    has_empty_steps: bool = False
    gpu: str = "NVIDIA H100 PCIe"
    file_name: str = "dp{dp}_pp0_tp{rank}_dcp0_ep{device}_rank{rank}.{stamp}.pt.trace.json.gz"
    process: str = "VLLM::Worker_TP{rank}"
    metadata: dict[str, object] = field(default_factory=dict)
    model: str = MODEL
    configs: dict[str, dict[str, object]] = field(default_factory=dict)
    nccl_log: NcclLog | None = None
    stragglers: list[tuple[int, int, str]] = field(default_factory=list)

    def bytes_source(self, row: Row) -> str | None:
        """What tells the size of a collective's message; None where nothing does."""
        if "In msg nelems" in row.item.args:
            return "args"
        if self.nccl_log and self.nccl_log.tells(row):
            return "nccl_log"
        if row.is_shape_recorded:
            return "shapes"
        is_target = row.category == "all_reduce" and row.phase in ("forward", "verify")
        return "model" if self.configs and is_target else None
