-- Calls of collectives, one row per call and rank, with what the trace tells of the communicator.
--
-- A kernel that ends the one right before it on its stream (two-shot AllReduce, then its norm) is part of
-- that call: the call lasts to its end.
--
-- Makes: collective_part, collective_call.

-- A table, since joins to all activities need to know how few these are: three times faster.
CREATE TEMP TABLE collective_part AS
SELECT
    id, file_id, name_id, category_id, stream, start_ns, end_ns, launch_id, launch_ns, k, phase,
    signature.impl, is_fused, is_tail
FROM attributed
JOIN signature USING (name_id)
JOIN kernel USING (name)
WHERE is_collective;

CREATE TEMP TABLE collective_call AS
WITH followed AS (
    SELECT id, lag(id) OVER (PARTITION BY file_id, device, stream ORDER BY start_ns, end_ns, id) AS before_id
    FROM attributed
    SEMI JOIN (FROM collective_part WHERE is_tail) AS tailed USING (file_id, stream)
),
tail AS (
    SELECT head.id AS head_id, part.id, part.end_ns, part.is_fused
    FROM collective_part AS part
    JOIN followed USING (id)
    JOIN collective_part AS head ON head.id = before_id
    WHERE part.is_tail AND NOT head.is_tail AND part.category_id = head.category_id
),
arg AS (
    SELECT
        file_id, correlation, start_ns, any_value(collective) AS collective, any_value(seq) AS seq,
        nullif(any_value(pg_name), '') AS pg_name,
        nullif(nullif(any_value(pg_desc), ''), 'undefined') AS pg_desc, any_value(pg_ranks) AS pg_ranks,
        coalesce(
            any_value(group_size),
            CASE WHEN regexp_full_match(any_value(pg_ranks), '\[\d+(, *\d+)*\]')
                THEN len(string_split(any_value(pg_ranks), ','))
            END
        ) AS group_size
    FROM collective_arg
    WHERE kind = 'kernel'
    GROUP BY ALL
)
SELECT
    part.id, part.file_id, part.name_id, category, impl, step, phase, part.launch_id, part.launch_ns,
    part.start_ns,
    greatest(part.end_ns, coalesce(tail.end_ns, part.end_ns)) AS end_ns,
    1 + (tail.id IS NOT NULL)::INTEGER AS n_activities,
    part.is_fused OR coalesce(tail.is_fused, false) AS is_fused,
    -- No rank is done before the last has begun.
    category IN ('all_reduce', 'all_gather', 'reduce_scatter') AS is_blocking,
    hash(part.name_id, grid, block) AS form, work.graph_id, work.is_graph,
    -- Point to point, each pair of ranks counts for itself.
    CASE WHEN arg.collective NOT IN ('send', 'recv', 'batch_isend_irecv') THEN seq END AS seq,
    group_size, pg_name, pg_desc, pg_ranks,
    hash(category, pg_name, pg_desc, pg_ranks, group_size) AS label
FROM collective_part AS part
JOIN category_code USING (category_id)
JOIN work USING (id)
LEFT JOIN tail ON tail.head_id = part.id
LEFT JOIN device_event ON device_event.id = part.id
LEFT JOIN arg
    ON (arg.file_id, arg.correlation, arg.start_ns)
    = (part.file_id, device_event.correlation, part.start_ns)
LEFT JOIN step_number ON (step_number.file_id, step_number.k) = (part.file_id, part.k)
WHERE part.id NOT IN (SELECT id FROM tail);
