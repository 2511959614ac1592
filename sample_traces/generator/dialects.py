"""The dialects by name."""

from __future__ import annotations

from collections.abc import Callable

from generator import collective_dialects as together
from generator import other_dialects as other
from generator import speculation_dialects as speculation
from generator import vllm_dialects as vllm
from generator.profiling import Size
from generator.run import Run

DIALECTS: dict[str, Callable[[Size], Run]] = {
    dialect.__name__: dialect
    for dialect in (
        vllm.story_baseline,
        vllm.story_eagle3,
        vllm.v1_scopes_graphs_piecewise,
        vllm.v1_no_scopes_piecewise,
        vllm.v1_no_scopes_eagle,
        vllm.v1_no_eagle_prepare,
        vllm.v1_old_scopes_010,
        vllm.v1_old_scopes_011,
        vllm.v1_new_cached,
        vllm.v1_detailed,
        vllm.v1_ngram,
        vllm.v1_mixed_idle,
        vllm.v1_plugin,
        vllm.v1_plugin_ngram,
        vllm.v1_plugin_scopes,
        vllm.nccl_allreduce,
        vllm.amd_hip,
        vllm.v2_full_graphs,
        vllm.v2_eagle3,
        vllm.v2_copy_before_post_update,
        vllm.v2_top_p,
        vllm.v2_eager_target_graphed_drafts,
        vllm.v2_plugin,
        vllm.v2_plugin_eager,
        vllm.v2_cuda_only,
        vllm.v2_kernels_only,
        other.sglang_eagle,
        other.sglang_no_run_batch,
        other.sglang_execute,
        other.sglang_decode_plain,
        other.dp_dummy_batch,
        other.generic_torch,
        other.no_annotation,
        together.ranks8_common_clock,
        together.ranks8_clock_offsets,
        together.ranks8_two_hosts,
        together.unequal_counts,
        together.collectives_zoo,
        together.collectives_zoo_rocm,
        together.draft_collectives,
        together.bytes_from_model,
        together.nccl_log_graphs,
        together.nccl_log_no_annotation,
        speculation.pair_baseline,
        speculation.pair_eagle3_k1,
        speculation.pair_eagle3_k2,
        speculation.pair_eagle3_k3,
        speculation.pair_eagle3_k4,
        speculation.pair_eagle3_k5,
        speculation.losing_baseline,
        speculation.losing_eagle3,
        speculation.bound_baseline,
        speculation.bound_eagle3,
    )
}
