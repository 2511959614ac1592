-- Every call of a collective on every rank, with how long it waited for the others.
--
-- Answers: who waits for whom, how long does the transfer take, and how fast is it?
-- Grain: one row per (collective, rank): one call of one communicator as that rank ran it.
-- Columns:
--   run VARCHAR: run.
--   dp INTEGER: data-parallel engine, 0 where there is one.
--   collective INTEGER: number of the call within the run, equal on all ranks it was matched over.
--   comm VARCHAR: description or name of the process group (with its ranks where several share it), else the category after `unnamed `.
--   seq BIGINT: place in the order of its communicator: Seq of the trace, else counted from 0.
--   rank INTEGER: rank within the engine's world; NULL where unknown.
--   step INTEGER: engine step; NULL where none can be told.
--   phase VARCHAR: phase: tells collectives of draft and verify apart.
--   category VARCHAR: all_reduce, all_gather, ...
--   impl VARCHAR: implementation; NULL where the rule names none.
--   is_fused BOOLEAN: the kernel does other work too (norm, quantisation): its bandwidth is a lower bound.
--   bytes BIGINT: size of the message: the reduced tensor; of gathers and scatters the whole over all ranks.
--   bytes_source VARCHAR: where bytes come from: args, nccl_log, shapes or model; NULL without bytes.
--   start_ns BIGINT: start on the device, as in the trace.
--   dur_ns BIGINT: duration on this rank, the kernel that ends it included.
--   wait_ns BIGINT: latest start over ranks less its own, on corrected clocks; 0 on the last; NULL unless matched, and
--     where clocks cannot be compared.
--   transfer_ns BIGINT: shortest duration over ranks, which needs no clocks; NULL unless matched.
--   algbw_gb_per_s DOUBLE: bytes over transfer_ns, over dur_ns where unmatched; GB = 1e9 bytes.
--   busbw_gb_per_s DOUBLE: algbw times the factor of the collective, 2(n-1)/n for all_reduce.
--   algorithm VARCHAR: RING, TREE, NVLS, ... as NCCL's log has it; NULL where no log tells.
--   protocol VARCHAR: LL, LL128 or SIMPLE, likewise.
--   channels INTEGER: blocks of a kernel of NCCL's own (ncclDevKernel_..., one per channel), else by its log; NULL
--     elsewhere.
--   match VARCHAR: how its ranks were found: exact (metadata), template (graph replays), order, none.
--   group_size INTEGER: ranks of the communicator; NULL where unknown.
--   dtype VARCHAR: element type as torch names it; NULL where unknown.
--   launch_ns BIGINT: start of the launch call; NULL where it is not in the trace.
--   starved_ns BIGINT: time since the rank's last call of this communicator in which its device had nothing queued.
--   offset_ns BIGINT: what wait_ns adds to the rank's times, 0 where its clock agrees; NULL where wait_ns is.
--   model_ns BIGINT: time of NCCL's own model, a lower bound; NULL where it does not apply.
--   name VARCHAR: name of the activity.
--   activity_id BIGINT: activity that carries it, of view activities; the first of two.
--   n_activities INTEGER: activities that make it up: 2 where a kernel of its own ends it.
--   file_id BIGINT: file within the run.
-- Limits: waits below some microseconds are within what ends of one call lie apart on a common clock.

SELECT
    call.run,
    call.dp,
    collective,
    comm,
    seq,
    call.rank,
    step,
    phase::VARCHAR AS phase,
    category,
    impl,
    is_fused,
    bytes,
    bytes_source::VARCHAR AS bytes_source,
    start_ns,
    dur_ns,
    wait_ns,
    transfer_ns,
    bytes / nullif(coalesce(transfer_ns, dur_ns), 0) AS algbw_gb_per_s,
    bytes / nullif(coalesce(transfer_ns, dur_ns), 0) * busbw_factor(category, group_size) AS busbw_gb_per_s,
    algorithm,
    protocol,
    channels,
    match::VARCHAR AS match,
    group_size,
    dtype,
    launch_ns,
    starved_ns,
    CASE
        WHEN wait_ns IS NOT NULL AND is_applied
            THEN clock.offset_ns + (drift_ppm / 1e6 * (start_ns - origin_ns))::BIGINT
        WHEN wait_ns IS NOT NULL THEN 0
    END AS offset_ns,
    model_ns,
    name,
    activity_id,
    n_activities,
    call.file_id::BIGINT AS file_id
FROM collective AS call
LEFT JOIN clock_offset AS clock ON clock.run = call.run AND clock.dp = call.dp AND clock.rank = call.rank
