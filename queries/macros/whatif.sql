-- Macros of the report whatif, which says what each column means: what the target's pass takes with other drafts and loads.
-- `told` is the list of rows of whatif_inputs as JSON. Rules in docs/whatif.md.

-- What a modelled part may be wrong by.
CREATE OR REPLACE MACRO whatif_doubt() AS 0.5;

-- Rate p at each position, given the one before, that gives a total of p + p^2 + ... + p^n tokens; NULL where none does.
CREATE OR REPLACE MACRO equal_rate(total, n) AS
CASE
    WHEN total <= 0 THEN 0
    WHEN total <= n THEN list_reduce(
        list_transform(range(1, 46), lambda i: 0.5::DOUBLE ** i),
        lambda p, half: if((p + half) * (1 - (p + half) ** n) / (1 - p - half) < total, p + half, p),
        0.0::DOUBLE
    )
END;

CREATE OR REPLACE MACRO told_inputs(told) AS TABLE
SELECT unnest(from_json(told::JSON, '[{
    "subject": "VARCHAR", "input": "VARCHAR", "place": "DOUBLE", "value": "DOUBLE", "error": "DOUBLE", "kind": "VARCHAR"
}]'), recursive := true);

-- The runs that are measured, at most one without drafts and one with.
CREATE OR REPLACE MACRO whatif_anchors(told) AS TABLE
SELECT
    subject,
    max(value) FILTER (WHERE input = 'requests') AS requests,
    coalesce(max(value) FILTER (WHERE input = 'k'), 0) AS k,
    coalesce(max(value) FILTER (WHERE input = 'filled'), 1) AS filled,
    coalesce(max(value) FILTER (WHERE input = 'covered'), 1) AS covered,
    max(value) FILTER (WHERE input = 'tokens') AS tokens,
    max(value) FILTER (WHERE input = 'step_ns') AS step_ns,
    max(coalesce(error, 0)) FILTER (WHERE input = 'step_ns') AS step_error_ns,
    coalesce(max(value) FILTER (WHERE input = 'waiting_ns'), 0) AS waiting_ns,
    max(value) FILTER (WHERE input = 'draft_ns') AS draft_ns,
    max(value) FILTER (WHERE input = 'sample_ns') AS sample_ns,
    max(value) FILTER (WHERE input = 'other_ns') AS other_ns,
    max(value) FILTER (WHERE input = 'idle_ns') AS idle_ns,
    coalesce(max(value) FILTER (WHERE input = 'draft_idle_ns'), 0) AS draft_idle_ns
FROM told_inputs(told)
WHERE subject IN ('baseline', 'speculative')
GROUP BY subject;

-- What is asked for, and the run that each starts from: the one of its sort, where both are there.
CREATE OR REPLACE MACRO whatif_points(told, ks, concurrencies) AS TABLE
WITH anchors AS (
    FROM whatif_anchors(told)
),

-- With two runs, what they span; by one, all but its own pass is modelled.
own AS (
    SELECT
        coalesce(arg_min(requests, subject), 1) AS own_requests,
        greatest(1, round(own_requests))::INTEGER AS own_concurrency,
        min(subject) AS plain,
        max(subject) AS drafting,
        coalesce(max(filled) FILTER (WHERE k > 0), 1) AS filled,
        if(count(*) = 2, min(tokens), NULL) AS least_tokens,
        if(count(*) = 2, max(tokens), NULL) AS most_tokens
    FROM anchors
),

asked AS (
    SELECT k, concurrency
    FROM (SELECT DISTINCT unnest(string_split('0,' || ks, ',')::INTEGER[]) AS k)
    CROSS JOIN (
        SELECT unnest(string_split(concurrencies, ',')::INTEGER[]) AS concurrency
        UNION
        SELECT own_concurrency FROM own
    )
)

SELECT
    asked.k,
    concurrency,
    concurrency = own_concurrency AS is_own,
    if(is_own, own_requests, concurrency) AS requests,
    requests * (1 + asked.k * filled)::DOUBLE AS tokens,
    coalesce(tokens < 0.999 * least_tokens OR tokens > 1.001 * most_tokens, false) AS is_beyond,
    if(asked.k = 0, plain, drafting) AS subject
FROM asked
CROSS JOIN own;

-- Time of the target's pass and its parts; modelled_ns of it was added to what was measured.
CREATE OR REPLACE MACRO whatif_passes(told, ks, concurrencies) AS TABLE
WITH inputs AS (
    FROM told_inputs(told)
),

anchors AS (
    FROM whatif_anchors(told)
),

points AS (
    FROM whatif_points(told, ks, concurrencies)
),

model AS (
    -- Tokens from which a dense GEMM is bound by arithmetic; the most that real all-reduces exceed a curve of them.
    SELECT
        256 AS compute_tokens,
        4 AS most_of_curve,
        max(value) FILTER (WHERE input = 'experts') AS experts,
        max(value) FILTER (WHERE input = 'active_experts') AS active_experts,
        max(value) FILTER (WHERE input = 'message_bytes') AS message_bytes,
        max(value) FILTER (WHERE input = 'all_reduces') AS all_reduces
    FROM inputs
),

segments AS (
    SELECT
        place AS low_bytes,
        value AS low_ns,
        lead(place) OVER sizes AS high_bytes,
        lead(value) OVER sizes AS high_ns,
        row_number() OVER sizes = 1 AS is_first,
        row_number() OVER sizes = count(*) OVER () - 1 AS is_last
    FROM inputs
    WHERE subject = 'curve'
    WINDOW sizes AS (ORDER BY place)
),

-- What the time of each part is taken to be a straight line of.
drivers AS (
    SELECT
        sizes.tokens,
        least(sizes.tokens, compute_tokens) AS tokens_driver,
        greatest(1, sizes.tokens / compute_tokens) AS gemm_bound,
        experts_touched(experts, active_experts, sizes.tokens) AS touched,
        greatest(1, sizes.tokens * active_experts / touched / compute_tokens) AS moe_bound,
        all_reduces * greatest(
            0, low_ns + (high_ns - low_ns) * (sizes.tokens * message_bytes - low_bytes) / (high_bytes - low_bytes)
        ) AS curve_ns
    FROM (SELECT tokens FROM points UNION SELECT tokens FROM anchors) AS sizes
    CROSS JOIN model
    LEFT JOIN segments
        ON high_bytes IS NOT NULL
        AND (is_first OR sizes.tokens * message_bytes >= low_bytes)
        AND (is_last OR sizes.tokens * message_bytes < high_bytes)
),

part_drivers AS (
    SELECT
        tokens,
        unnest([
            {'part': 'gemm_ns', 'driver': tokens_driver, 'bound': gemm_bound},
            {'part': 'moe_gemm_ns', 'driver': coalesce(touched, tokens_driver), 'bound': coalesce(moe_bound, 1)},
            {'part': 'all_reduce_ns', 'driver': coalesce(curve_ns, tokens_driver), 'bound': 1},
            {'part': 'attention_ns', 'driver': tokens_driver, 'bound': 1},
            {'part': 'rest_ns', 'driver': tokens_driver, 'bound': 1}
        ], recursive := true)
    FROM drivers
),

-- Without what arithmetic adds to it (bound), a part is a straight line of its driver.
measured_parts AS (
    SELECT anchors.subject, inputs.input AS part, inputs.value AS measured_ns, measured_ns / bound AS ns, driver
    FROM inputs
    INNER JOIN anchors ON anchors.subject = inputs.subject
    INNER JOIN part_drivers ON part_drivers.tokens = anchors.tokens AND part_drivers.part = inputs.input
),

-- Two runs tell how a part grows; of one, experts' weights are read once each, messages grow as the curve says.
slopes AS (
    SELECT
        part,
        min(driver) AS least_driver,
        CASE
            WHEN count(*) = 2 AND max(driver) > min(driver) THEN least(
                greatest(0, (arg_max(ns, driver) - arg_min(ns, driver)) / (max(driver) - min(driver))),
                if(part = 'all_reduce_ns' AND (SELECT count(*) FROM segments) > 0, any_value(most_of_curve), NULL)
            )
            WHEN part = 'moe_gemm_ns' THEN max(ns / driver)
            WHEN part = 'all_reduce_ns' AND (SELECT count(*) FROM segments) > 0 THEN 1
            ELSE 0
        END AS slope
    FROM measured_parts
    CROSS JOIN model
    GROUP BY part
),

-- Below the smallest measured pass no part shrinks faster than in proportion: the line goes through 0 at the steepest.
lined_parts AS (
    SELECT
        k, concurrency, measured_parts.part, measured_ns, bound,
        ns + slope * (least_driver - measured_parts.driver) AS least_ns,
        bound * least_ns * least(1, part_drivers.driver / nullif(least_driver, 0)) AS floor_ns,
        bound * (ns + slope * (part_drivers.driver - measured_parts.driver)) AS ns
    FROM points
    INNER JOIN measured_parts ON measured_parts.subject = points.subject
    INNER JOIN part_drivers ON part_drivers.tokens = points.tokens AND part_drivers.part = measured_parts.part
    INNER JOIN slopes ON slopes.part = measured_parts.part
),

-- Ranks wait the longer for each other the longer they work in between; where two runs tell, it is in the line.
moved_parts AS (
    SELECT
        lined_parts.* EXCLUDE (ns),
        greatest(floor_ns, ns + if(part = 'all_reduce_ns' AND (SELECT count(*) FROM anchors) = 1, waiting_ns * (
            sum(greatest(floor_ns, ns)) FILTER (WHERE part <> 'all_reduce_ns') OVER pass
            / nullif(sum(measured_ns) FILTER (WHERE part <> 'all_reduce_ns') OVER pass, 0) - 1
        ), 0)) AS ns
    FROM lined_parts
    INNER JOIN points USING (k, concurrency)
    INNER JOIN anchors ON anchors.subject = points.subject
    WINDOW pass AS (PARTITION BY k, concurrency)
)

SELECT
    k,
    concurrency,
    sum(ns) AS pass_ns,
    sum(ns) FILTER (WHERE part = 'gemm_ns') AS gemm_ns,
    sum(ns) FILTER (WHERE part = 'moe_gemm_ns') AS moe_gemm_ns,
    sum(ns) FILTER (WHERE part = 'all_reduce_ns') AS all_reduce_ns,
    sum(ns) FILTER (WHERE part = 'attention_ns') AS attention_ns,
    sum(ns) FILTER (WHERE part = 'rest_ns') AS rest_ns,
    -- By one run alone experts' growth is between none and that of even routing: all of it is in doubt.
    sum(abs(ns - measured_ns) * if(part = 'moe_gemm_ns' AND n_anchors = 1, 1 / whatif_doubt(), 1)) AS modelled_ns
FROM moved_parts
CROSS JOIN (SELECT count(*) AS n_anchors FROM anchors)
GROUP BY k, concurrency;

-- Requests of the measured decode steps of each run, and how many of them stalled, by the median of their load.
CREATE OR REPLACE MACRO decode_loads() AS TABLE
SELECT run, min(n_streams) AS least, max(n_streams) AS most, count(*) FILTER (is_stalled(work_ns, p50_ns)) AS n_stalled
FROM (SELECT *, median(work_ns) OVER (PARTITION BY run, n_streams) AS p50_ns FROM step_units WHERE kind = 'decode')
GROUP BY run;

-- Ways to know how an all-reduce of runs grows with its message, the best before the others; a curve that is asked
-- for comes first of all.
CREATE OR REPLACE MACRO all_reduce_sizes(of_runs, of_curve) AS TABLE
SELECT
    1 AS preference, run, bytes, median(coalesce(transfer_ns, dur_ns)) AS time_ns, 'measured' AS kind,
    format('transfer by message size in {}', run) AS source
FROM collectives
WHERE list_contains(of_runs, run) AND category = 'all_reduce' AND phase IN ('forward', 'verify') AND bytes > 0
GROUP BY run, bytes
HAVING count(*) >= 5
UNION ALL
SELECT if(of_curve IS NULL, 2, 0), run, bytes, min(time_ns), 'measured', format('curve of {}', run)
FROM calibrations
WHERE (run = of_curve OR (of_curve IS NULL AND list_contains(of_runs, run)))
    AND category = 'all_reduce' AND delayed_rank IS NULL
    AND coalesce(n_ranks = (SELECT max(tensor_parallel) FROM runs WHERE list_contains(of_runs, runs.run)), true)
GROUP BY run, bytes
UNION ALL
SELECT
    3, run, grid.bytes, min(latency_ns + grid.bytes / algbw_gb_per_s), 'modelled',
    format('NCCL''s own model, in its log of {}', run)
FROM nccl_model
CROSS JOIN (SELECT 1024 * 2 ** unnest(range(20)) AS bytes) AS grid
WHERE list_contains(of_runs, run) AND category = 'all_reduce' AND algbw_gb_per_s > 0
GROUP BY run, grid.bytes
UNION ALL
-- Two channels of 24 GB/s, half of what they carry being flags (protocol LL).
SELECT
    4, NULL, unnest([0, 1 << 30]), unnest([0, (1 << 30) / 24 * busbw_factor('all_reduce', n_ranks)]), 'modelled',
    'NCCL''s model of PCIe 5: no sizes, curve or log tell; faster links grow less'
FROM (SELECT max(tensor_parallel) AS n_ranks FROM runs WHERE list_contains(of_runs, run) AND backend = 'gpu')
WHERE n_ranks > 1;
