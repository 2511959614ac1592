-- The all-reduces of one step of one rank, in the order it made them.
--
-- Answers: which messages does a step send, so that a benchmark can send the same?
-- Grain: one row per all-reduce, by its place in the step.
-- Params:
--   $run VARCHAR: run.
--   $step INTEGER = NULL: only this step; the first decode step by default, any where there is none.
-- Columns:
--   step INTEGER: step.
--   position BIGINT: place in the step, from 0.
--   bytes BIGINT: size of the message.
--   dtype VARCHAR: element type; NULL where unknown.
--   group_size INTEGER: ranks that take part; NULL where unknown.
-- Limits: only a complete step whose messages are all of known size; of the lowest rank that has one.

WITH calls AS (
    SELECT c.dp, c.rank, c.step, c.start_ns, c.bytes, c.dtype, c.group_size, s.kind
    FROM collectives AS c
    JOIN steps AS s ON s.run = c.run AND s.dp = c.dp AND s.rank IS NOT DISTINCT FROM c.rank AND s.step = c.step
    WHERE
        c.run = $run
        AND c.category = 'all_reduce'
        AND s.is_complete
        AND ($step IS NULL OR c.step = $step)
),

chosen AS (
    SELECT dp, rank, step
    FROM calls
    GROUP BY dp, rank, step, kind
    HAVING bool_and(bytes IS NOT NULL)
    ORDER BY coalesce(kind = 'decode', false) DESC, dp, rank, step
    LIMIT 1
)

SELECT
    c.step,
    row_number() OVER (ORDER BY c.start_ns) - 1 AS position,
    c.bytes,
    c.dtype,
    c.group_size
FROM calls AS c
JOIN chosen AS o ON o.dp = c.dp AND o.rank IS NOT DISTINCT FROM c.rank AND o.step = c.step
ORDER BY position
