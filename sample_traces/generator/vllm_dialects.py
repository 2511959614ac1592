"""vLLM's dialects: versions and set-ups of its two model runners."""

from __future__ import annotations

from generator.batch import Batch
from generator.model import Model
from generator.profiling import Size
from generator.run import CONFIG, Run
from generator.v1_options import V1Options
from generator.v2 import V2Options
from generator.vllm_runs import EMPTY, mixture, one, one_verified, prefill_first, v1_run, v2_run

STORY = Model(layers=63, all_reduce="ar_custom_8", transfer_us=34.4)
NCCL_ARGS = (
    ', "Collective name": "{}", "In msg nelems": {}, "Out msg nelems": {}, "Group size": 2, '
    '"dtype": "BFloat16", "In split size": "[]", "Out split size": "[]", '
    '"Process Group Name": "3", "Process Group Description": "undefined", '
    '"Process Group Ranks": "[0, 1]"'
)
NCCL = Model(all_reduce="ar_nccl", args=NCCL_ARGS.format("allreduce", 7168, 7168))
OLD = Model(moe=("moe_w13_old", "moe_w2_old"))
OLD_FILE = "synthetic-host_{pid}.{stamp}.pt.trace.json.gz"
INSTANCE_FILE = "1793000000123456789-rank-{rank}.{stamp}.pt.trace.json.gz"


def story_baseline(size: Size) -> Run:
    """The story: baseline decode of one request at TP8, V1 with scopes, host ahead."""
    options = V1Options(scopes="new", model=STORY)
    run = v1_run("story_baseline", size, options, one, 8, 14)
    run.configs = {"kimi-like-int4": CONFIG}
    return run


def story_eagle3(size: Size) -> Run:
    """The story with EAGLE-3 drafts of three tokens."""
    options = V1Options(scopes="new", model=STORY, method="eagle")
    run = v1_run("story_eagle3", size, options, one_verified, 8, 15)
    run.configs = {"kimi-like-int4": CONFIG}
    return run


def v1_scopes_graphs_piecewise(size: Size) -> Run:
    """V1 with scopes, piecewise graphs, EAGLE-3 with random sampling, expert balancing."""
    options = V1Options(
        scopes="new", method="eagle", graphs="piecewise", has_eplb=True, is_random=True
    )
    run = v1_run("v1_scopes_graphs_piecewise", size, options, prefill_first)
    run.version, run.file_name = "0.16.0", INSTANCE_FILE
    return run


def v1_no_scopes_piecewise(size: Size) -> Run:
    """V1 without scopes, piecewise; two lost launch calls, the last step cut by the stop."""
    options = V1Options(graphs="piecewise", lost_step=2, cut_step=(size.steps or 5) - 1)
    return v1_run("v1_no_scopes_piecewise", size, options, lambda _: Batch(decode_reqs=4))


def v1_no_scopes_eagle(size: Size) -> Run:
    """V1 without scopes, piecewise: a prefill, then EAGLE-3 with eagle_prepare kernels."""
    options = V1Options(method="eagle", graphs="piecewise", copies_lengths_out=True)
    return v1_run("v1_no_scopes_eagle", size, options, prefill_first)


def v1_no_eagle_prepare(size: Size) -> Run:
    """V1 without scopes and without eagle_prepare kernels, drafts after the output copy."""
    options = V1Options(
        method="eagle",
        graphs="piecewise",
        has_prepare_kernels=False,
        is_async=False,
        drafts_last=True,
    )
    return v1_run("v1_no_eagle_prepare", size, options, prefill_first)


def v1_old_scopes_010(size: Size) -> Run:
    """0.10.2: no step annotation; scopes in the order Sample, Bookkeep, Draft."""
    run = v1_run("v1_old_scopes_010", size, _old("0.10"), prefill_first)
    run.version, run.file_name = "0.10.2", OLD_FILE
    return run


def v1_old_scopes_011(size: Size) -> Run:
    """0.11.0: no step annotation; scopes in the order Sample, Draft, Bookkeep."""
    run = v1_run("v1_old_scopes_011", size, _old("0.11"), prefill_first)
    run.version, run.file_name = "0.11.0", OLD_FILE
    return run


def _old(scopes: str) -> V1Options:
    return V1Options(
        scopes=scopes,
        form="none",
        method="eagle",
        has_prepare_kernels=False,
        is_async=False,
        model=OLD,
    )


def v1_new_cached(size: Size) -> Run:
    """0.12: annotation execute_new_N_cached_M, EAGLE-3, full graphs, an empty step."""
    options = V1Options(form="new_cached", method="eagle")
    run = v1_run("v1_new_cached", size, options, lambda n: EMPTY if n == 3 else prefill_first(n))
    run.version, run.file_name = "0.12.0", INSTANCE_FILE
    return run


def v1_detailed(size: Size) -> Run:
    """The detailed annotation of 0.26 and later: prefill, mixed and decode, an empty step."""
    options = V1Options(form="detailed")
    return v1_run("v1_detailed", size, options, lambda n: EMPTY if n == 3 else mixture(n), steps=6)


def v1_ngram(size: Size) -> Run:
    """N-gram drafts with scopes: drafting is host time only, drafts vary in length."""
    options = V1Options(scopes="new", method="ngram", num_tokens=5, is_async=False)
    lengths = (0, 5, 2, 0, 3, 4)
    return v1_run("v1_ngram", size, options, lambda n: Batch(drafts=lengths[n % 6]), steps=6)


def v1_mixed_idle(size: Size) -> Run:
    """Prefill, mixed and decode batches, and empty steps with gaps on the device."""
    batches = (*(mixture(n) for n in (0, 1, 2)), EMPTY, mixture(2), EMPTY, EMPTY, mixture(0))
    return v1_run("v1_mixed_idle", size, V1Options(), lambda n: batches[n % 8], steps=8)


def nccl_allreduce(size: Size) -> Run:
    """Eager V1 with scopes; NCCL collectives of torch.distributed with their args."""
    options = V1Options(
        scopes="new",
        graphs="eager",
        has_nccl_scopes=True,
        logits_args=NCCL_ARGS.format("_allgather_base", 81920, 163840),
        model=NCCL,
    )
    return v1_run("nccl_allreduce", size, options, one, steps=4)


def amd_hip(size: Size) -> Run:
    """ROCm: HIP calls and names, RCCL's Generic kernels, no graph ids."""
    run = v1_run("amd_hip", size, V1Options(), one, is_hip=True)
    run.gpu = ""
    return run


def v1_plugin(size: Size) -> Run:
    """V1 with the scopes of tracekit's plugin alone, piecewise, EAGLE-3; an empty step."""
    options = V1Options(
        has_plugin=True, method="eagle", graphs="piecewise", copies_lengths_out=True
    )
    return v1_run(
        "v1_plugin", size, options, lambda n: EMPTY if n == 3 else prefill_first(n), steps=6
    )


def v1_plugin_ngram(size: Size) -> Run:
    """V1 with the plugin's scopes alone, n-gram drafts: drafting is host time only."""
    options = V1Options(has_plugin=True, method="ngram", is_async=False)
    return v1_run("v1_plugin_ngram", size, options, one_verified)


def v1_plugin_scopes(size: Size) -> Run:
    """V1 with the plugin's scopes and vLLM's own, EAGLE-3."""
    options = V1Options(has_plugin=True, scopes="new", method="eagle")
    return v1_run("v1_plugin_scopes", size, options, prefill_first)


def v2_full_graphs(size: Size) -> Run:
    """V2, full graphs, no speculation; 0.33 stamps its version into the trace."""
    run = v2_run("v2_full_graphs", size, V2Options(), lambda _: Batch(decode_reqs=2))
    run.version = "0.33.0"
    run.metadata = {"vllm_version": "0.33.0", "vllm_version_tuple": [0, 33, 0]}
    return run


def v2_eagle3(size: Size) -> Run:
    """V2, full graphs: a prefill, then EAGLE-3."""
    return v2_run("v2_eagle3", size, V2Options(num_tokens=3), prefill_first)


def v2_copy_before_post_update(size: Size) -> Run:
    """V2 EAGLE-3 that launches the output copy before _post_update_kernel."""
    options = V2Options(num_tokens=3, is_copy_first=True)
    return v2_run("v2_copy_before_post_update", size, options, one_verified)


def v2_top_p(size: Size) -> Run:
    """V2 with temperature and top-p kernels before _gumbel_sample_kernel."""
    return v2_run("v2_top_p", size, V2Options(has_top_p=True), one)


def v2_eager_target_graphed_drafts(size: Size) -> Run:
    """V2 EAGLE-3: the target runs eagerly, the drafts as graphs."""
    options = V2Options(num_tokens=3, graphs="eager", has_top_p=True)
    return v2_run("v2_eager_target_graphed_drafts", size, options, prefill_first, 4)


def v2_cuda_only(size: Size) -> Run:
    """V2 EAGLE-3 recorded with CUDA activity only: launch calls, no annotation, no operators."""
    return v2_run("v2_cuda_only", size, V2Options(form="none", num_tokens=3), one_verified)


def v2_plugin(size: Size) -> Run:
    """V2 with the scopes of tracekit's plugin: a prefill, then EAGLE-3."""
    options = V2Options(has_plugin=True, num_tokens=3, has_top_p=True)
    return v2_run("v2_plugin", size, options, prefill_first)


def v2_plugin_eager(size: Size) -> Run:
    """V2 with the plugin's scopes: eager target, output copy before _post_update_kernel."""
    options = V2Options(has_plugin=True, graphs="eager", is_copy_first=True)
    return v2_run("v2_plugin_eager", size, options, one)


def v2_kernels_only(size: Size) -> Run:
    """V2 without launch calls, annotations and operators: device activities alone."""
    options = V2Options(form="none", is_copy_first=True)
    return v2_run("v2_kernels_only", size, options, one, is_hidden=True)
