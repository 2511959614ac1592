-- The size of each collective: of the best source that tells one (args, NCCL's log, shapes, model).
--
-- All ranks of a call must agree on it, or it has none. `sent_id` tells apart what NCCL chooses by.
--
-- Makes: sized, ledger.

CREATE TEMP TABLE sized AS
WITH named AS (
    SELECT
        name,
        CASE
            WHEN regexp_matches(name, '(?i)bf16|bfloat16') THEN 'BFloat16'
            WHEN regexp_matches(name, '(?i)half|fp16|float16|_f16') THEN 'Half'
            WHEN regexp_matches(name, '(?i)_f32|_fp32|_float\b|<float') THEN 'Float'
        END AS element
    -- The type in the name of a kernel that only moves data is not the message's.
    FROM (SELECT DISTINCT name FROM carried WHERE category IN ('all_reduce', 'reduce_scatter'))
),
type AS (
    SELECT DISTINCT torch_name, bytes
    FROM element_types()
),
claimed AS (
    SELECT
        carried.id, collective, source, claim.n, claim.group_size,
        CASE source
            WHEN 'model' THEN coalesce(named.element, claim.element)
            ELSE coalesce(claim.element, named.element)
        END AS element
    FROM claim
    JOIN carried USING (id)
    LEFT JOIN named USING (name)
),
told AS (
    SELECT
        collective, source,
        CASE WHEN min(n * type.bytes) = max(n * type.bytes) THEN any_value(n * type.bytes) END AS bytes,
        CASE WHEN min(element) = max(element) THEN any_value(element) END AS element,
        CASE WHEN min(group_size) = max(group_size) THEN any_value(group_size) END AS group_size,
        string_agg(DISTINCT n * type.bytes, ', ' ORDER BY n * type.bytes) AS sizes
    FROM claimed
    JOIN type ON torch_name = element
    WHERE n IS NOT NULL
    GROUP BY ALL
),
best AS (
    SELECT DISTINCT ON (collective) *
    FROM told
    ORDER BY collective, source
),
grouped AS (
    SELECT collective, any_value(told.group_size) AS group_size
    FROM told
    JOIN (SELECT collective, count(*) AS n FROM carried GROUP BY collective) USING (collective)
    -- Fewer than have it in their traces cannot be.
    WHERE told.group_size >= n
    GROUP BY collective
)
SELECT
    carried.*, coalesce(best.element, named.element) AS element, bytes,
    CASE WHEN bytes IS NOT NULL THEN best.source END AS source,
    CASE WHEN bytes IS NULL THEN best.sizes END AS sizes,
    coalesce(grouped.group_size, carried.group_size) AS n_ranks,
    CASE
        WHEN impl IN ('nccl', 'rccl') AND bytes IS NOT NULL
            THEN hash(category, bytes, channels, coalesce(grouped.group_size, carried.group_size))
    END AS sent_id
FROM carried
LEFT JOIN best USING (collective)
LEFT JOIN grouped USING (collective)
LEFT JOIN named USING (name);

INSERT INTO ledger
SELECT
    $run, file_id, 'collective whose ranks tell different sizes (kept, without a size)', NULL, NULL, 0,
    count(*) || ' calls, such as ' || any_value(name) || ': ' || any_value(sizes) || ' B', true
FROM sized
WHERE sizes IS NOT NULL
GROUP BY file_id;

INSERT INTO ledger
SELECT
    $run, file_id, 'call that NCCL''s log does not tell apart (kept, without a size)', NULL, NULL, 0,
    count(*) || ' ' || category || ', such as ' || mode(coalesce(candidates, 'calls of another number')), true
FROM sized
LEFT JOIN claim ON claim.id = sized.id AND claim.source = 'nccl_log'
WHERE is_nccl AND bytes IS NULL AND sizes IS NULL AND category IN (SELECT category FROM logged)
GROUP BY file_id, category;
