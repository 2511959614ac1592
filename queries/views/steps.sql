-- Engine steps: what each had to do and how its time divides into busy, idle and waiting for work.
--
-- Answers: how long is a step on the device, and how much of it is work?
-- Grain: one row per (run, dp, rank, step).
-- Columns:
--   run VARCHAR: run.
--   dp INTEGER: data-parallel engine, 0 where there is one.
--   rank INTEGER: rank within the engine's world; NULL where unknown.
--   step INTEGER: number of the step, from 0 = the earliest any rank has, equal on all ranks.
--   kind VARCHAR: prefill, decode, mixed, idle (no request) or unknown.
--   start_ns BIGINT: start of its first kernel on its main stream; NULL for a step without device work.
--   dur_ns BIGINT: window on the device, to the next step's start; busy + idle + wait_for_work exactly.
--   busy_ns BIGINT: union of all activities of the rank clipped to the window, ns.
--   idle_ns BIGINT: time in the window with no activity, less wait_for_work_ns.
--   wait_for_work_ns BIGINT: gap at the end where the host ran empty steps; NULL where the engine writes none.
--   host_start_ns BIGINT: start of the step on the host; NULL where the trace has no host side.
--   host_dur_ns BIGINT: duration on the host, ns.
--   n_prefill_reqs INTEGER: requests in the context phase; NULL where unknown.
--   n_prefill_tokens INTEGER: tokens scheduled for them; NULL where unknown.
--   n_decode_reqs INTEGER: requests in the generation phase; NULL where unknown.
--   n_decode_tokens INTEGER: tokens scheduled for them, drafts included; NULL where unknown.
--   is_verify BOOLEAN: true where the step checks draft tokens.
--   n_draft_tokens INTEGER: draft tokens it checks; NULL where only the fact is known.
--   n_emitted_tokens INTEGER: tokens it emitted, where the trace tells; else NULL.
--   is_complete BOOLEAN: true where the step begins and its last phase ends inside the profiling window.
--   starved_ns BIGINT: idle time (without wait_for_work_ns) in which nothing was queued: the next activity was
--     launched after the gap began; NULL without launches.
--   launch_delay_ns BIGINT: median time from launch call to start over its activities; NULL without launches.
--   is_measured BOOLEAN: true where breakdowns use it: complete on all its ranks; all with device work where no step of its kind is.
--   expected_tokens DOUBLE: tokens a decode step emitted: n_emitted_tokens, else one per request (one where their
--     number is unknown) and n_draft_tokens times spec_decode's acceptance_rate; NULL where unknown.
--   token_source VARCHAR: what tells them: trace (the step's own, or spec_decode's of the others), rule (no drafts: one each),
--     counters or log (spec_decode's); NULL like it.
--   annotation VARCHAR: the step's own annotation; NULL where it was cut without one.
--   main_stream BIGINT: stream with most kernel time in the step; NULL without device work.
--   longest_call VARCHAR: runtime call the host spent longest in; NULL where none took 100 us.
--   longest_call_ns BIGINT: duration of that one call, ns.
-- Limits: windows of neighbouring steps touch; work attributed to a step may overhang its window.

WITH flagged AS (
    SELECT
        *,
        dur_ns IS NOT NULL AND bool_and(is_complete) OVER (PARTITION BY run, dp, step) AS is_whole
    FROM step
),

acceptance AS (
    SELECT run, acceptance_rate, mean_acceptance_length, source
    FROM spec_decode
    WHERE position IS NULL
)

SELECT
    flagged.run,
    dp,
    rank,
    step,
    kind,
    start_ns,
    dur_ns,
    busy_ns,
    idle_ns,
    wait_for_work_ns,
    host_start_ns,
    host_dur_ns,
    n_prefill_reqs,
    n_prefill_tokens,
    n_decode_reqs,
    n_decode_tokens,
    is_verify,
    n_draft_tokens,
    n_emitted_tokens,
    is_complete,
    starved_ns,
    launch_delay_ns,
    is_whole OR (dur_ns IS NOT NULL AND NOT bool_or(is_whole) OVER (PARTITION BY flagged.run, kind)) AS is_measured,
    CASE
        WHEN kind <> 'decode' OR n_emitted_tokens IS NOT NULL THEN n_emitted_tokens
        WHEN NOT is_verify THEN coalesce(n_decode_reqs, 1)
        ELSE coalesce(
            n_decode_reqs + n_draft_tokens * acceptance_rate, coalesce(n_decode_reqs, 1) * mean_acceptance_length
        )
    END AS expected_tokens,
    CASE
        WHEN expected_tokens IS NULL THEN NULL
        WHEN n_emitted_tokens IS NOT NULL THEN 'trace'
        WHEN is_verify THEN source
        ELSE 'rule'
    END AS token_source,
    annotation,
    main_stream,
    longest_call,
    longest_call_ns
FROM flagged
LEFT JOIN acceptance ON acceptance.run = flagged.run
