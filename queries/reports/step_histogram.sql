-- How step times are spread: steps by duration.
--
-- Answers: is a typical step like the mean, or do a few long ones make it?
-- Grain: one row per span of durations, shortest first; spans are equally long and leave none out.
-- Params:
--   $run VARCHAR: run to read.
--   $kind VARCHAR = NULL: one of prefill, decode, mixed, idle, unknown; NULL as in breakdown.
--   $dp INTEGER = NULL: only this data-parallel engine; NULL = all.
--   $rank INTEGER = NULL: only this rank; NULL = the mean over ranks.
-- Columns:
--   low_ns BIGINT: shortest duration of the span.
--   high_ns BIGINT: duration at which the next begins; NULL = no end, all the long ones are in it.
--   n BIGINT: steps in it.
-- Limits: ranks are reduced first, by the mean. Spans end where steps take longer than the median by six times what the
--     90th percentile does.

WITH samples AS (
    SELECT avg(dur_ns) AS ns
    FROM chosen_steps($run, $kind, $dp)
    WHERE $rank IS NULL OR rank = $rank
    GROUP BY dp, step
),

bounds AS (
    SELECT
        min(ns) AS shortest,
        max(ns) AS longest,
        least(max(ns), median(ns) + 6 * (quantile_cont(ns, 0.9) - median(ns))) AS last_ns
    FROM samples
    HAVING count(*) > 0
),

-- 12 to 30 spans, each 1, 2 or 5 times a power of ten long.
widths AS (
    SELECT
        *,
        greatest(1, (last_ns - shortest) / 12) AS raw,
        (10 ** floor(log10(raw)))::BIGINT AS power,
        CASE WHEN raw >= 5 * power THEN 5 WHEN raw >= 2 * power THEN 2 ELSE 1 END * power AS width
    FROM bounds
),

spans AS (
    SELECT width, (last_ns // width)::BIGINT AS last_span, unnest(range((shortest // width)::BIGINT, (last_ns // width)::BIGINT + 1)) AS span, longest
    FROM widths
)

SELECT
    span * width AS low_ns,
    CASE WHEN span < last_span OR longest < (span + 1) * width THEN (span + 1) * width END AS high_ns,
    (SELECT count(*) FROM samples WHERE least(ns // width, last_span)::BIGINT = span) AS n
FROM spans
ORDER BY low_ns
