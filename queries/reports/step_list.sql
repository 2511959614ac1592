-- Every step with its load, its time and the time of its phases.
--
-- Answers: which steps are there, and which of them are slow?
-- Grain: one row per (dp, step); figures are means over the ranks that have it.
-- Params:
--   $run VARCHAR: run to read.
--   $kind VARCHAR = NULL: one of prefill, decode, mixed, idle, unknown; NULL = all.
--   $dp INTEGER = NULL: only this data-parallel engine; NULL = all.
--   $rank INTEGER = NULL: only this rank; NULL = the mean over ranks.
--   $step INTEGER = NULL: only this step; NULL = all.
-- Columns:
--   dp INTEGER: data-parallel engine.
--   step INTEGER: step.
--   kind VARCHAR: prefill, decode, mixed, idle or unknown.
--   is_verify BOOLEAN: true where it checks drafts.
--   is_complete BOOLEAN: true where no rank's window cuts it.
--   n_ranks BIGINT: ranks that have it.
--   n_reqs BIGINT: requests; NULL where unknown.
--   n_tokens BIGINT: tokens scheduled, drafts included; NULL where unknown.
--   n_draft_tokens INTEGER: draft tokens it checks; NULL where unknown.
--   n_accepted BIGINT: of these, those accepted, in a decode step: tokens emitted less one per request; NULL where the
--     trace does not tell (detailed_trace_annotation).
--   dur_ns DOUBLE: duration on the device; NULL without device work.
--   busy_share DOUBLE: busy time / duration.
--   idle_ns DOUBLE: idle time, without waiting for work.
--   wait_for_work_ns DOUBLE: time without a request; NULL where the engine writes no empty steps.
--   starved_ns DOUBLE: idle time with nothing queued; NULL without launches.
--   prepare_ns DOUBLE: busy time of the phase prepare; NULL where it has none.
--   forward_ns DOUBLE: of forward, or of verify in a step that checks drafts.
--   sample_ns DOUBLE: of sample.
--   draft_ns DOUBLE: of draft.
--   other_ns DOUBLE: of other.
-- Limits: phases are attributed by launch and unclipped, so they need not add up to the busy time.

WITH per_phase AS (
    SELECT
        dp,
        rank,
        step,
        sum(busy_ns) FILTER (WHERE phase = 'prepare') AS prepare_ns,
        sum(busy_ns) FILTER (WHERE phase IN ('forward', 'verify')) AS forward_ns,
        sum(busy_ns) FILTER (WHERE phase = 'sample') AS sample_ns,
        sum(busy_ns) FILTER (WHERE phase = 'draft') AS draft_ns,
        sum(busy_ns) FILTER (WHERE phase = 'other') AS other_ns
    FROM step_phases
    WHERE run = $run AND n > 0
    GROUP BY dp, rank, step
)

SELECT
    steps.dp,
    steps.step,
    any_value(kind) AS kind,
    bool_or(is_verify) AS is_verify,
    bool_and(is_complete) AS is_complete,
    count(*) AS n_ranks,
    max(coalesce(n_prefill_reqs, 0)::BIGINT + n_decode_reqs) AS n_reqs,
    max(coalesce(n_prefill_tokens, 0)::BIGINT + n_decode_tokens) AS n_tokens,
    max(n_draft_tokens) AS n_draft_tokens,
    max(n_emitted_tokens::BIGINT - n_decode_reqs) FILTER (WHERE is_verify AND kind = 'decode') AS n_accepted,
    avg(dur_ns) AS dur_ns,
    avg(busy_ns) / nullif(avg(dur_ns), 0) AS busy_share,
    avg(idle_ns) AS idle_ns,
    avg(wait_for_work_ns) AS wait_for_work_ns,
    avg(starved_ns) AS starved_ns,
    avg(prepare_ns) AS prepare_ns,
    avg(forward_ns) AS forward_ns,
    avg(sample_ns) AS sample_ns,
    avg(draft_ns) AS draft_ns,
    avg(other_ns) AS other_ns
FROM steps
LEFT JOIN per_phase
    ON per_phase.dp = steps.dp AND per_phase.rank IS NOT DISTINCT FROM steps.rank AND per_phase.step = steps.step
WHERE steps.run = $run
    AND ($kind IS NULL OR kind = $kind)
    AND ($dp IS NULL OR steps.dp = $dp)
    AND ($rank IS NULL OR steps.rank = $rank)
    AND ($step IS NULL OR steps.step = $step)
GROUP BY steps.dp, steps.step
ORDER BY steps.dp, steps.step
