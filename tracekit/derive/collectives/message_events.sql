-- What the trace's own events tell of each collective: args first, then shapes of the launching op.
--
-- claim: a message as one source has it: elements in all, and their type (NULL where it is not told).
-- A kernel in a CUDA graph has none of this: what was open when the graph was launched is not its op.
--
-- channels: a block each, of NCCL's and RCCL's own kernels alone. Source: NCCL 2.18 to 2.30,
-- src/enqueue.cc; blocks of msccl's and of symmetric memory's kernels are other things.
--
-- Makes: carried, said, claim.

CREATE TEMP TABLE carried AS
SELECT
    matched.id, matched.file_id, matched.dp, matched.rank, matched.collective, step, phase,
    matched.name, category, impl, matched.group_size, matched.start_ns,
    work.thread, work.launch_id, work.is_graph, work.graph_id,
    CASE WHEN NOT work.is_graph THEN work.at_ns END AS at_ns,
    CASE WHEN NOT work.is_graph AND work.launch_ns IS NULL THEN external_id END AS external_id,
    -- Of a kernel its correlation, of an op or span of the CPU its thread.
    CASE WHEN device_event.id IS NULL THEN work.stream ELSE correlation END AS own_key,
    impl IN ('nccl', 'nccl_symmetric', 'rccl') AS is_nccl,
    CASE
        WHEN is_nccl AND regexp_matches(matched.name, '^(void )?nccl(Dev)?Kernel_')
            THEN TRY_CAST(regexp_extract(grid, '^\[(\d+), *1, *1\]$', 1) AS INTEGER)
    END AS channels
FROM matched
JOIN work ON work.id = matched.id
LEFT JOIN device_event ON device_event.id = matched.id
WHERE category != 'barrier';

CREATE TEMP TABLE said AS
-- Dims are text of the trace, one per argument: lists of any depth, `[]` for what has no shape.
WITH argument AS (
    SELECT
        in_dims, in_types, unnest(range(len(dims))) AS place,
        unnest(dims)::VARCHAR AS dim, trim(unnest(types), '"') AS type
    FROM (
        SELECT
            in_dims, in_types,
            TRY_CAST(in_dims AS JSON[]) AS dims, TRY_CAST(in_types AS VARCHAR[]) AS types
        FROM (SELECT DISTINCT in_dims, in_types FROM collective_arg WHERE starts_with(in_dims, '['))
    )
    WHERE len(dims) = len(types)
),
tensor AS (
    SELECT
        in_dims, in_types, place, torch_name AS element,
        CASE
            WHEN dim = '[]' THEN CASE WHEN torch_name IS NOT NULL THEN 1 END
            ELSE TRY_CAST(list_sum(list_transform(
                regexp_extract_all(dim, '\[(\d[\d,]*)\]', 1),
                lambda d: list_product(CAST(string_split(d, ',') AS DOUBLE[]))
            )) AS BIGINT)
        END AS n
    FROM argument
    LEFT JOIN element_types() ON name = bare_type(type)
),
shape AS (
    SELECT
        in_dims, in_types, arg_min(n, place) AS n, max(n) AS n_largest, count(*) AS n_tensors,
        arg_min(element, place) AS element
    FROM tensor
    WHERE n > 0
    GROUP BY ALL
)
SELECT
    file_id, kind, collective_arg.name, thread, start_ns, dur_ns, external_id, correlation, group_size,
    collective IS NOT NULL AS is_args,
    CASE
        WHEN regexp_matches(lower(collective_arg.name), 'all_?reduce') THEN 'all_reduce'
        WHEN regexp_matches(lower(collective_arg.name), 'all_?gather') THEN 'all_gather'
        WHEN regexp_matches(lower(collective_arg.name), 'reduce_?scatter') THEN 'reduce_scatter'
        WHEN regexp_matches(lower(collective_arg.name), 'all_?to_?all') THEN 'all_to_all'
        WHEN contains(collective_arg.name, 'broadcast') THEN 'broadcast'
        WHEN regexp_matches(collective_arg.name, 'send|recv') THEN 'send_recv'
    END AS category,
    CASE WHEN collective IS NULL THEN element ELSE torch_name END AS element,
    -- What a rank gives and gets differs where ranks gather or scatter: the larger one is the whole.
    CASE WHEN collective IS NULL THEN n ELSE nullif(greatest(n_in, n_out)::BIGINT, 0) END AS n,
    n_largest, n_tensors
FROM collective_arg
LEFT JOIN shape USING (in_dims, in_types)
LEFT JOIN element_types() AS types ON types.name = bare_type(dtype)
WHERE collective IS DISTINCT FROM 'wait'
    AND CASE WHEN collective IS NULL THEN n ELSE greatest(n_in, n_out) END > 0;

CREATE TEMP TABLE claim (
    id BIGINT, source bytes_source, element VARCHAR, n BIGINT, group_size INTEGER, candidates VARCHAR
);

INSERT INTO claim
WITH own AS (
    SELECT carried.id, said.*, 0 AS distance
    FROM carried
    JOIN said
        ON said.file_id = carried.file_id AND said.start_ns = carried.start_ns AND said.name = carried.name
        AND CASE kind WHEN 'kernel' THEN correlation ELSE said.thread END IS NOT DISTINCT FROM own_key
),
-- Of the ops and spans with args, and of those with shapes, the latest that was open at the launch.
around AS (
    SELECT carried.id, said.*, 1 AS distance
    FROM (SELECT * FROM carried CROSS JOIN (VALUES (true), (false)) AS kinds (is_args)) AS carried
    ASOF JOIN (FROM said WHERE kind != 'kernel') AS said
        ON said.file_id = carried.file_id AND said.thread = carried.thread AND said.is_args = carried.is_args
        AND carried.at_ns >= said.start_ns
    WHERE carried.at_ns < said.start_ns + said.dur_ns
    UNION ALL
    SELECT carried.id, said.*, 1
    FROM carried
    JOIN said USING (file_id, external_id)
    WHERE kind != 'kernel'
),
fitting AS (
    SELECT
        told.* EXCLUDE (n, category),
        CASE
            WHEN is_args OR told.category IN ('all_reduce', 'broadcast', 'send_recv') THEN n
            WHEN told.category = 'all_gather' AND n_tensors = 1 THEN n * carried.group_size
            ELSE n_largest
        END AS n
    FROM (FROM own UNION ALL FROM around) AS told
    JOIN carried USING (id)
    WHERE is_args OR told.category = carried.category
        OR (told.category IS NOT NULL AND carried.category IN ('send_recv', 'collective_other'))
)
SELECT DISTINCT ON (id, is_args)
    id, CASE WHEN is_args THEN 'args' ELSE 'shapes' END, element, n, group_size, NULL
FROM fitting
WHERE n IS NOT NULL
ORDER BY id, is_args, distance, start_ns DESC;
