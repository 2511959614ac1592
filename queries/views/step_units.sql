-- Steps with their ranks reduced by the mean: the samples of every statistic.
--
-- Answers: how long does a step take, whatever the number of ranks, and how many tokens does it give?
-- Grain: one row per (run, dp, step) that is measured (steps.is_measured); ranks that differ in kind make two.
-- Columns:
--   run VARCHAR: run.
--   dp INTEGER: data-parallel engine, 0 where there is one.
--   step INTEGER: number of the step.
--   kind VARCHAR: prefill, decode, mixed, idle (no request) or unknown.
--   n_ranks BIGINT: ranks that the means are over.
--   n_reqs BIGINT: requests in it, the size of the batch; NULL where unknown.
--   n_streams INTEGER: requests that decode in it; 1 where unknown or none.
--   is_verify BOOLEAN: true where the step checks draft tokens.
--   n_decode_tokens INTEGER: tokens scheduled for decoding requests, drafts included; NULL where unknown.
--   n_emitted_tokens INTEGER: tokens it emitted, where the trace tells; else NULL.
--   expected_tokens DOUBLE: tokens it emitted, as steps.expected_tokens has them; NULL where unknown.
--   token_source VARCHAR: trace, rule, counters or log, as steps.token_source; NULL like it.
--   dur_ns DOUBLE: mean over ranks of the window on the device.
--   work_ns DOUBLE: mean of dur_ns less wait_for_work_ns: what its requests wait for it.
--   busy_ns DOUBLE: mean of busy_ns.
--   idle_ns DOUBLE: mean of idle_ns.
--   wait_for_work_ns DOUBLE: mean of wait_for_work_ns, 0 where the engine writes no empty steps.
-- Limits: ranks of one step are no independent samples, so they are never counted as such.

SELECT
    run,
    dp,
    step,
    kind,
    count(*) AS n_ranks,
    max(coalesce(n_prefill_reqs, 0)::BIGINT + n_decode_reqs) AS n_reqs,
    coalesce(nullif(max(n_decode_reqs), 0), 1) AS n_streams,
    bool_or(is_verify) AS is_verify,
    max(n_decode_tokens) AS n_decode_tokens,
    max(n_emitted_tokens) AS n_emitted_tokens,
    max(expected_tokens) AS expected_tokens,
    max(token_source) AS token_source,
    avg(dur_ns) AS dur_ns,
    avg(dur_ns - coalesce(wait_for_work_ns, 0)) AS work_ns,
    avg(busy_ns) AS busy_ns,
    avg(idle_ns) AS idle_ns,
    avg(coalesce(wait_for_work_ns, 0)) AS wait_for_work_ns
FROM steps
WHERE is_measured
GROUP BY run, dp, step, kind
