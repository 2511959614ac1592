-- Macro of the comparison of two sides; stored in the database beside the views it reads.

-- Steps of both sides as samples of each batch, a row for each step, with what `common` says of the batch:
-- time and tokens, and how far both are off their mean on that side.
CREATE OR REPLACE MACRO compared_steps(base_runs, other_runs, of_kind, of_dp, of_batch) AS TABLE
WITH batched AS (
    SELECT *, median(work_ns) OVER (PARTITION BY run, batch) AS run_p50_ns, is_stalled(work_ns, run_p50_ns) AS has_stalled
    FROM sided_steps(base_runs, other_runs, of_kind, of_dp)
    WHERE of_batch IS NULL OR batch = of_batch
),

-- A batch's steps, and where some of them stalled once more without those: with and without are two lots.
lots AS (
    SELECT *, {'batch': batch, 'is_steady': false} AS lot
    FROM batched
    UNION ALL
    SELECT *, {'batch': batch, 'is_steady': true}
    FROM batched
    WHERE NOT has_stalled AND batch IN (SELECT batch FROM batched WHERE has_stalled)
),

common AS (
    SELECT
        lot,
        any_value(kind) AS kind,
        any_value(kind) = 'decode' AND count(expected_tokens) = count(*) AS has_tokens,
        NOT has_tokens AND bool_or(is_verify) AS is_untold,
        bool_and(is_unprofiled) AS is_unprofiled,
        least(count(DISTINCT run) FILTER (WHERE is_base), count(DISTINCT run) FILTER (WHERE NOT is_base)) > 1 AS has_repeats,
        least(count(*) FILTER (WHERE is_base), count(*) FILTER (WHERE NOT is_base)) AS n_least
    FROM lots
    GROUP BY lot
    HAVING n_least > 0
),

-- How far chance puts the mean of a draft's accepted tokens, by the share that each position had.
acceptance AS (
    SELECT
        run,
        sqrt(greatest(sum((2 * position + 1) * acceptance_rate) - sum(acceptance_rate) ** 2, 0) / max(drafts)) AS deviation
    FROM spec_decode
    WHERE position IS NOT NULL
    GROUP BY run
)

SELECT
    common.*, is_base, run, work_ns, has_stalled, token_source,
    if(has_tokens, expected_tokens / n_streams, 1) AS tokens,
    if(has_tokens AND token_source IN ('counters', 'log'), coalesce(deviation, 0), 0) AS token_deviation,
    row_number() OVER (PARTITION BY is_base, lot ORDER BY run, dp, step) AS place,
    sign(work_ns - median(work_ns) OVER side) AS above,
    work_ns - avg(work_ns) OVER side AS from_mean,
    work_ns - tokens * sum(work_ns) OVER side / sum(tokens) OVER side AS from_rate
FROM lots
INNER JOIN common USING (lot)
LEFT JOIN acceptance USING (run)
WINDOW side AS (PARTITION BY is_base, lot);
