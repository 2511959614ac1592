-- What other drafts or another load would give: time per token and speed-up by drafted tokens K and concurrency.
--
-- Answers: does speculation pay, with how many drafted tokens, at which concurrency, and from which acceptance on?
-- Grain: one row per (concurrency, K); K = 0 is the step without drafts.
-- Params:
--   $inputs VARCHAR: rows of the report whatif_inputs as a JSON list of objects.
--   $ks VARCHAR = '1,2,3,4,5,6,7,8': drafted tokens of each request and step.
--   $concurrencies VARCHAR = '1,4,16,64': requests in a step; the run's own is added.
-- Columns:
--   concurrency INTEGER: requests in a step, of the run's own the mean, rounded.
--   requests DOUBLE: the same, that of the run not rounded: what its row was reckoned with.
--   k INTEGER: drafted tokens of each request and step.
--   n_steps BIGINT: decode steps measured, of two runs those of the run with fewer; NULL without a run.
--   is_own BOOLEAN: true at the concurrency of the run.
--   is_best BOOLEAN: true for the K with the least time per token at this concurrency.
--   tokens_per_step DOUBLE: tokens a stream gets of a step: 1 + sum of the acceptance by position, times the part of
--     its steps that have a draft.
--   tokens_error DOUBLE: half of its range.
--   tokens_kind VARCHAR: measured, modelled, assumed or given; NULL for K = 0.
--   is_beyond BOOLEAN: true where its pass has fewer or more tokens than those of both runs, so that it is extrapolated;
--     false with one run, by which all that differs is modelled.
--   verify_ns DOUBLE: target's pass, for K = 0 forward; NULL where only the baseline is given.
--   verify_kind VARCHAR: measured, modelled or given; NULL like it.
--   gemm_ns DOUBLE: of it, dense GEMMs; NULL where the pass is given, as in the four that follow.
--   moe_gemm_ns DOUBLE: of it, GEMMs of experts.
--   all_reduce_ns DOUBLE: of it, all-reduces.
--   attention_ns DOUBLE: of it, attention.
--   rest_ns DOUBLE: of it, the rest; less what overlaps.
--   draft_ns DOUBLE: drafting; 0 for K = 0.
--   draft_kind VARCHAR: measured, modelled, assumed or given; NULL for K = 0.
--   assumed VARCHAR: what of it is neither measured nor given, in words; NULL where nothing is, or where it is modelled.
--   sample_ns DOUBLE: sampling and rejection, as measured.
--   other_ns DOUBLE: other phases, as measured.
--   idle_ns DOUBLE: host and launches: as measured, what drafts add to it growing with K.
--   outside_ns DOUBLE: sample, other and idle together.
--   step_ns DOUBLE: sum of verify, draft and outside.
--   step_error_ns DOUBLE: half of its range.
--   ns_per_token DOUBLE: step_ns / tokens_per_step: what a stream waits for a token.
--   base_ns_per_token DOUBLE: the same without drafts at this concurrency.
--   ns_per_token_low DOUBLE: lower end of its range.
--   ns_per_token_high DOUBLE: upper end.
--   tokens_per_s DOUBLE: of all streams.
--   tokens_per_s_low DOUBLE: lower end of its range.
--   tokens_per_s_high DOUBLE: upper end.
--   speedup DOUBLE: time per token without drafts at this concurrency / with them.
--   speedup_low DOUBLE: lower end of its range.
--   speedup_high DOUBLE: upper end.
--   break_even_acceptance DOUBLE: rate of acceptance at each position, given the one before, at which speedup is 1; 0 where
--     drafts cost nothing; NULL where they cannot pay.
-- Limits: the range holds 95 % of the error of mean steps and counted drafts, and half of all that the model adds to what
--     was measured. Attention and the rest do not grow with concurrency unless two runs show how. Rules in docs/whatif.md.

WITH inputs AS (
    FROM told_inputs($inputs)
),

model AS (
    SELECT
        whatif_doubt() AS doubt,
        max(value) FILTER (WHERE input = 'baseline_ns') AS given_baseline_ns,
        max(value) FILTER (WHERE input = 'verify_ns') AS given_verify_ns,
        max(value) FILTER (WHERE input = 'tokens_per_step') AS given_tokens,
        min(value) FILTER (WHERE input = 'steps') AS n_steps,
        coalesce(max(value) FILTER (WHERE input = 'draft_step_ns'), 0) AS draft_step_ns,
        coalesce(max(value) FILTER (WHERE input = 'draft_token_ns'), 0) AS draft_token_ns,
        coalesce(max(value) FILTER (WHERE input = 'draft_fraction'), 0) AS draft_fraction,
        coalesce(max(value) FILTER (WHERE input = 'draft_all_reduces'), 0)
        * coalesce(max(value) FILTER (WHERE input = 'draft_all_reduce_ns'), 0) AS draft_calls_ns,
        coalesce(
            max(kind) FILTER (WHERE input = 'draft_fraction'), max(kind) FILTER (WHERE input = 'draft_step_ns')
        ) AS draft_kind,
        coalesce(max(kind) FILTER (WHERE input = 'draft_step_ns') = 'given', false) AS is_drafting_given
    FROM inputs
),

anchors AS (
    FROM whatif_anchors($inputs)
),

-- Of the run with drafts: how many steps have one, and what idle time they add.
drafting AS (
    SELECT
        coalesce(max(covered) FILTER (WHERE k > 0), 1) AS covered,
        coalesce(max(k), 0) AS drafted,
        coalesce(max(draft_ns), 0) = 0 AS is_on_host,
        coalesce(max(draft_idle_ns) FILTER (WHERE k > 0), 0) AS drafting_idle_ns,
        CASE
            WHEN count(*) = 2
                THEN greatest(0, max(idle_ns) FILTER (WHERE k > 0) - max(idle_ns) FILTER (WHERE k = 0))
            ELSE coalesce(max(draft_idle_ns), 0)
        END AS added_idle_ns
    FROM anchors
),

points AS (
    FROM whatif_points($inputs, $ks, $concurrencies)
),

passes AS (
    FROM whatif_passes($inputs, $ks, $concurrencies)
),

-- Work of the target's pass without drafts, which a draft pass may be told as a fraction of.
plain AS (
    SELECT concurrency, pass_ns - all_reduce_ns AS work_ns
    FROM passes
    WHERE k = 0
),

costs AS (
    SELECT
        points.*,
        CASE WHEN points.k > 0 THEN given_verify_ns END AS given_ns,
        coalesce(given_ns, pass_ns) AS verify_ns,
        if(points.k = 0, 0, draft_step_ns + points.k * (
            draft_token_ns + draft_fraction * coalesce(work_ns, given_baseline_ns) + draft_calls_ns
        )) AS draft_ns,
        coalesce(anchors.draft_ns, 0) AS measured_draft_ns,
        -- A time that was given is of all drafting, the host's too. Of what idle time drafts added besides, some
        -- stays, as it takes longer to verify, and some was of that drafter: half, for nothing tells.
        added_idle_ns - least(drafting_idle_ns, added_idle_ns) AS unclear_idle_ns,
        CASE
            WHEN drafted = 0 OR points.subject = 'baseline' THEN 0
            WHEN points.k > 0 AND is_drafting_given THEN doubt * unclear_idle_ns - added_idle_ns
            ELSE added_idle_ns * (if(points.k > 0 AND is_on_host, 1, points.k / drafted) - 1)
        END AS more_idle_ns,
        CASE
            WHEN points.k > 0 AND is_drafting_given THEN if(points.subject = 'baseline', 0, unclear_idle_ns)
            ELSE more_idle_ns
        END AS modelled_idle_ns,
        coalesce(sample_ns, 0) AS sample_ns,
        coalesce(other_ns, 0) AS other_ns,
        coalesce(idle_ns, 0) + more_idle_ns AS idle_ns,
        if(given_ns IS NULL, coalesce(modelled_ns, 0), 0) AS modelled_ns,
        step_error_ns / step_ns AS spread,
        passes.* EXCLUDE (k, concurrency, modelled_ns)
    FROM points
    LEFT JOIN passes ON passes.k = points.k AND passes.concurrency = points.concurrency
    LEFT JOIN plain ON plain.concurrency = points.concurrency
    LEFT JOIN anchors ON anchors.subject = points.subject
    CROSS JOIN drafting
    CROSS JOIN model
),

steps_of AS (
    SELECT
        costs.*,
        CASE
            WHEN k = 0 OR draft_kind = 'given' THEN 0
            WHEN draft_kind = 'measured' THEN abs(draft_ns - measured_draft_ns)
            -- What more tokens to a draft add may be nothing, where that was measured of one token.
            WHEN measured_draft_ns > 0 THEN abs(draft_ns - measured_draft_ns) / doubt
            -- An assumed draft takes from nothing to twice as long.
            ELSE draft_ns / doubt
        END AS modelled_draft_ns,
        costs.verify_ns + draft_ns + sample_ns + other_ns + idle_ns AS sum_ns
    FROM costs
    CROSS JOIN model
),

-- A baseline that was given holds at the run's own concurrency.
timed AS (
    SELECT
        steps_of.*,
        if(k = 0 AND given_baseline_ns IS NOT NULL, given_baseline_ns * coalesce(sum_ns / own_ns, 1), sum_ns) AS step_ns,
        sqrt(
            (coalesce(spread, 0) * step_ns) ** 2 + (doubt * modelled_ns) ** 2
            + (doubt * modelled_draft_ns) ** 2 + (doubt * modelled_idle_ns) ** 2
        ) AS step_error_ns
    FROM steps_of
    CROSS JOIN (SELECT max(sum_ns) FILTER (WHERE k = 0 AND is_own) AS own_ns FROM steps_of)
    CROSS JOIN model
),

based AS (
    SELECT timed.*, base.step_ns AS base_ns, base.step_error_ns / base.step_ns AS base_spread
    FROM timed
    INNER JOIN timed AS base ON base.concurrency = timed.concurrency AND base.k = 0
),

yields AS (
    FROM whatif_yields($inputs, $ks, $concurrencies)
),

told AS (
    SELECT
        based.*,
        CASE
            WHEN k = 0 THEN 1
            ELSE coalesce(given_tokens, yields.expected_tokens)
        END AS tokens_per_step,
        if(k = 0 OR given_tokens IS NOT NULL, 0, yields.expected_error) AS tokens_error,
        CASE
            WHEN k = 0 THEN NULL
            WHEN given_tokens IS NOT NULL THEN 'given'
            ELSE coalesce(yields.kind, 'modelled')
        END AS tokens_kind,
        assumed_rates,
        sqrt((tokens_error / tokens_per_step) ** 2 + (step_error_ns / step_ns) ** 2) AS spread_of_token,
        if(k = 0, 0, sqrt(spread_of_token ** 2 + base_spread ** 2)) AS spread_of_speedup,
        CASE WHEN k > 0 THEN equal_rate((step_ns / base_ns - 1) / covered, k) END AS break_even_acceptance
    FROM based
    LEFT JOIN yields USING (k)
    CROSS JOIN drafting
    CROSS JOIN model
    WHERE k = 0 OR given_tokens IS NULL OR given_tokens <= k + 1
)

SELECT
    concurrency,
    requests,
    k,
    n_steps::BIGINT AS n_steps,
    is_own,
    k = arg_min(k, step_ns / tokens_per_step) OVER (PARTITION BY concurrency) AS is_best,
    tokens_per_step,
    tokens_error,
    tokens_kind,
    is_beyond AND given_ns IS NULL AS is_beyond,
    verify_ns,
    CASE
        WHEN given_ns IS NOT NULL THEN 'given'
        WHEN modelled_ns <= 0.001 * pass_ns THEN 'measured'
        WHEN pass_ns IS NOT NULL THEN 'modelled'
    END AS verify_kind,
    if(given_ns IS NULL, gemm_ns, NULL) AS gemm_ns,
    if(given_ns IS NULL, moe_gemm_ns, NULL) AS moe_gemm_ns,
    if(given_ns IS NULL, all_reduce_ns, NULL) AS all_reduce_ns,
    if(given_ns IS NULL, attention_ns, NULL) AS attention_ns,
    if(given_ns IS NULL, rest_ns, NULL) AS rest_ns,
    draft_ns,
    CASE
        WHEN k = 0 THEN NULL
        WHEN draft_kind = 'measured' AND modelled_draft_ns > 0.001 * draft_ns THEN 'modelled'
        WHEN draft_kind = 'assumed' AND modelled_draft_ns <= 0.001 * draft_ns AND draft_ns > 0 THEN 'measured'
        ELSE draft_kind
    END AS draft_kind,
    nullif(concat_ws(
        ' and ', if(tokens_kind = 'given', NULL, assumed_rates), CASE
            WHEN draft_kind <> 'assumed' OR draft_ns = 0 THEN NULL
            WHEN measured_draft_ns = 0 THEN 'draft time'
            WHEN modelled_draft_ns > 0.001 * draft_ns THEN 'how drafting grows with K'
        END
    ), '') AS assumed,
    sample_ns,
    other_ns,
    idle_ns,
    sample_ns + other_ns + idle_ns AS outside_ns,
    step_ns,
    step_error_ns,
    step_ns / tokens_per_step AS ns_per_token,
    base_ns AS base_ns_per_token,
    step_ns / tokens_per_step / (1 + spread_of_token) AS ns_per_token_low,
    step_ns / tokens_per_step * (1 + spread_of_token) AS ns_per_token_high,
    1e9 * requests * tokens_per_step / step_ns AS tokens_per_s,
    1e9 * requests * tokens_per_step / step_ns / (1 + spread_of_token) AS tokens_per_s_low,
    1e9 * requests * tokens_per_step / step_ns * (1 + spread_of_token) AS tokens_per_s_high,
    base_ns * tokens_per_step / step_ns AS speedup,
    base_ns * tokens_per_step / step_ns / (1 + spread_of_speedup) AS speedup_low,
    base_ns * tokens_per_step / step_ns * (1 + spread_of_speedup) AS speedup_high,
    break_even_acceptance
FROM told
CROSS JOIN model
ORDER BY concurrency, k
