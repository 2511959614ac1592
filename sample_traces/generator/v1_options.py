"""How vLLM's V1 model runner is set up."""

from __future__ import annotations

from dataclasses import dataclass, field

from generator.batch import SURVIVAL
from generator.model import Model
from generator.stragglers import Straggler


@dataclass(frozen=True, slots=True)
class V1Options:
    """How a version of the V1 runner is set up.

    scopes: none, new (0.11.1+), 0.10 or 0.11. form: of the step's annotation, see
    `annotation`. graphs: full (prefills: piecewise), decode
    (prefills: eager), piecewise or eager. method: none, eagle or ngram. has_plugin:
    tracekit's plugin is loaded, whose scopes decide before vLLM's own. In `lost_step` the
    trace lacks two launch calls; in `cut_step` profiling stops between execute_model and
    sample_tokens. `stragglers` by step. `graph_sizes`: numbers of tokens that
    graphs are captured for, largest first; a batch is padded to the next.
    """

    scopes: str = "none"
    form: str = "context"
    graphs: str = "full"
    method: str = "none"
    num_tokens: int = 3
    survival: tuple[float, ...] = SURVIVAL
    has_prepare_kernels: bool = True
    is_async: bool = True
    has_plugin: bool = False
    drafts_last: bool = False
    has_nccl_scopes: bool = False
    has_eplb: bool = False
    is_random: bool = False
    copies_lengths_out: bool = False
    gathers_drafts: bool = False
    graph_sizes: tuple[int, ...] = ()
    lost_step: int | None = None
    cut_step: int | None = None
    logits_args: str = ""
    stragglers: dict[int, Straggler] = field(default_factory=dict)
    model: Model = field(default_factory=Model)

    @property
    def copies_drafts_out(self) -> bool:
        """Whether drafted tokens are copied to the host at the end of drafting."""
        copies = self.drafts_last or self.has_plugin or self.scopes == "0.10"
        return copies and self.method == "eagle"
