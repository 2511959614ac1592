-- Two runs, or two groups of repeated runs, side by side: which is faster, and how certain that is.
--
-- Answers: is the other run faster for each emitted token, by how much, and could it be chance?
-- Grain: one row per batch size (requests in a step) that both have, in order.
-- Params:
--   $base VARCHAR[]: run to compare with, or several: repeats of one setting.
--   $other VARCHAR[]: run that is compared, or several.
--   $kind VARCHAR = NULL: one of prefill, decode, mixed, idle, unknown; NULL = the main kind of the base.
--   $batch INTEGER = NULL: only this batch size; NULL = all that both have.
--   $dp INTEGER = NULL: only this data-parallel engine; NULL = all.
-- Columns:
--   kind VARCHAR: kind of the steps.
--   batch BIGINT: requests in a step; NULL where some step does not tell: then all steps are compared.
--   is_main BOOLEAN: true of the batch size with most steps in common, which the other compare reports take.
--   unit VARCHAR: what is one sample: run where both sides have repeats, else step.
--   is_unprofiled BOOLEAN: true where times and tokens are those of the windows without the profiler that windows.is_quoted
--     names: the steps traced, stretched to them. False where some run has none, and of other kinds than decode.
--   basis VARCHAR: token where both sides tell their tokens, else step: what ratio and verdict are about.
--   base_steps BIGINT: steps of the base.
--   other_steps BIGINT: steps of the other.
--   base_runs BIGINT: runs they are from.
--   other_runs BIGINT: likewise.
--   base_block BIGINT: steps that are drawn together (block length); NULL where the unit is the run.
--   other_block BIGINT: likewise.
--   base_autocorrelation DOUBLE: of a step with the one before it, by which blocks are as long; NULL without spread.
--   other_autocorrelation DOUBLE: likewise.
--   base_step_p50_ns DOUBLE: median step, ranks reduced by the mean, wait_for_work left out.
--   other_step_p50_ns DOUBLE: likewise.
--   base_tokens_per_step DOUBLE: tokens emitted per request and step; NULL where nothing tells.
--   other_tokens_per_step DOUBLE: likewise.
--   base_token_source VARCHAR: trace, rule, counters or log, as in breakdown_headline.
--   other_token_source VARCHAR: likewise.
--   base_ns_per_token DOUBLE: mean step less wait_for_work / tokens_per_step; NULL like it.
--   other_ns_per_token DOUBLE: likewise.
--   base_tokens_per_s DOUBLE: its inverse, per stream.
--   other_tokens_per_s DOUBLE: likewise.
--   ratio DOUBLE: time of the other / time of the base, per token, or per step (mean) where that is the basis.
--   ratio_low DOUBLE: lower end of its 95 % interval; NULL with fewer than 8 steps on a side.
--   ratio_high DOUBLE: upper end, likewise.
--   speedup DOUBLE: 1 / ratio; NULL with has_unknown_tokens.
--   speedup_low DOUBLE: lower end of its 95 % interval.
--   speedup_high DOUBLE: upper end.
--   step_ratio DOUBLE: median step of the other / that of the base.
--   step_ratio_low DOUBLE: lower end of its 95 % interval.
--   step_ratio_high DOUBLE: upper end.
--   other_ns_per_token_low DOUBLE: lower end of the 95 % interval of other_ns_per_token; NULL like it.
--   other_ns_per_token_high DOUBLE: upper end.
--   other_tokens_per_s_low DOUBLE: lower end of the 95 % interval of other_tokens_per_s; NULL like it.
--   other_tokens_per_s_high DOUBLE: upper end.
--   other_step_p50_ns_low DOUBLE: lower end of the 95 % interval of other_step_p50_ns.
--   other_step_p50_ns_high DOUBLE: upper end.
--   base_stalled BIGINT: steps that stalled: longer than 3 x the median step of their run.
--   other_stalled BIGINT: likewise.
--   base_stalled_max_ns DOUBLE: the longest of them; NULL where none did.
--   other_stalled_max_ns DOUBLE: likewise.
--   steady_ratio DOUBLE: ratio of the other steps, those that stalled on either side left out; NULL where none did.
--   steady_ratio_low DOUBLE: lower end of its 95 % interval; NULL with fewer than 8 such steps on a side.
--   steady_ratio_high DOUBLE: upper end.
--   steady_speedup DOUBLE: 1 / steady_ratio.
--   steady_speedup_low DOUBLE: lower end of its 95 % interval.
--   steady_speedup_high DOUBLE: upper end.
--   steady_other_ns_per_token_low DOUBLE: as other_ns_per_token_low, without stalled steps; NULL where none did.
--   steady_other_ns_per_token_high DOUBLE: upper end.
--   steady_other_tokens_per_s_low DOUBLE: as other_tokens_per_s_low, likewise.
--   steady_other_tokens_per_s_high DOUBLE: upper end.
--   has_unknown_tokens BOOLEAN: true where a side verifies drafts and nothing tells the tokens of a step: no speed-up then.
--   is_decided_by_stalls BOOLEAN: true where what ratio says and what steady_ratio says are not the same.
--   verdict VARCHAR: faster or slower where the interval of ratio leaves 1 out, and that of steady_ratio likewise where steps
--     stalled; else, and with has_unknown_tokens, cannot tell.
--   base_more BIGINT: units the base would need more of until a ratio like this (steady_ratio where steps stalled) left 1 out;
--     NULL with a verdict, without an interval, where no steps would tell, and where a hundred times as many would not do.
--   other_more BIGINT: units the other would need more of, likewise.
--   break_even_tokens_per_step DOUBLE: tokens a step of the other must give to be as fast as the base.
-- Limits: 2,000 replicates of a moving-block bootstrap, the same for the same steps; docs/compare.md has the rules and how
--     often the interval holds the truth. Where counters tell the tokens, what acceptance varies by chance is added. With one
--     run on a side, what differs from run to run is in no interval.

WITH samples AS (
    SELECT * FROM compared_steps($base, $other, $kind, $dp, $batch)
),

common AS (
    SELECT DISTINCT lot, kind, has_tokens, is_untold, is_unprofiled, has_repeats, n_least
    FROM samples
),

runs_of_side AS (
    SELECT is_base, lot, run, sum(token_deviation) AS token_deviation
    FROM samples
    GROUP BY is_base, lot, run
),

-- Lag-1 autocorrelation of the steps, or of what they are off the rate where that is more; corrected for its bias.
sides AS (
    SELECT
        is_base, lot,
        count(*) AS n,
        count(*) FILTER (WHERE has_stalled) AS stalled,
        max(work_ns) FILTER (WHERE has_stalled) AS longest_ns,
        count(DISTINCT run) AS n_runs,
        sum(work_ns) / sum(tokens) AS ns_per_token,
        CASE WHEN bool_and(has_tokens) THEN avg(tokens) END AS tokens_per_step,
        CASE WHEN bool_and(has_tokens) THEN least_certain(list(token_source)) END AS token_source,
        median(work_ns) AS p50_ns,
        greatest(
            sum(from_mean * mean_before) / nullif(sum(from_mean ** 2), 0),
            sum(from_rate * rate_before) / nullif(sum(from_rate ** 2), 0)
        ) AS correlation,
        correlation + (1 + 3 * correlation) / count(*) AS autocorrelation,
        sum(tokens) AS n_tokens
    FROM (
        SELECT *, lag(from_mean) OVER line AS mean_before, lag(from_rate) OVER line AS rate_before
        FROM samples
        WINDOW line AS (PARTITION BY is_base, lot ORDER BY place)
    )
    GROUP BY is_base, lot
),

plans AS (
    SELECT
        sides.*, has_repeats, rho, block,
        if(has_repeats, n_runs, n - block + 1) AS n_blocks,
        if(has_repeats, n_runs, ceil(n / block)::BIGINT) AS n_draws,
        -- Of the variance, what blocks lose: by centring, and of the correlation that reaches beyond them.
        if(
            has_repeats,
            n_runs / (n_runs - 1),
            n_draws * block / (n - block) / (1 - 2 * rho * (1 - rho ** block) / (block * (1 - rho ** 2)))
        ) AS inflation,
        if(has_repeats, n_runs, n / block) - 1 AS freedom,
        if(
            has_repeats,
            0,
            (SELECT sqrt(sum(token_deviation ** 2)) FROM runs_of_side
             WHERE runs_of_side.is_base = sides.is_base AND runs_of_side.lot = sides.lot) / n_tokens
        ) AS noise
    FROM sides
    INNER JOIN common USING (lot)
    CROSS JOIN LATERAL (SELECT least(greatest(coalesce(autocorrelation, 0), 0), 0.9) AS rho)
    CROSS JOIN LATERAL (
        SELECT greatest(1, least(round((sqrt(6) * rho / (1 - rho ** 2)) ** (2 / 3) * n ** (1 / 3)), n // 4))::BIGINT AS block
    )
),

blocks AS (
    SELECT
        is_base, lot, place AS number, count(*) OVER ahead AS n,
        sum(work_ns) OVER ahead AS work_ns, sum(tokens) OVER ahead AS tokens, sum(above) OVER ahead AS above
    FROM samples
    INNER JOIN plans USING (is_base, lot)
    WHERE n >= 8 AND NOT plans.has_repeats
    WINDOW ahead AS (PARTITION BY is_base, lot ORDER BY place ROWS BETWEEN CURRENT ROW AND block - 1 FOLLOWING)
    UNION ALL
    SELECT
        is_base, lot, row_number() OVER (PARTITION BY is_base, lot ORDER BY run), count(*),
        sum(work_ns), sum(tokens), sum(above)
    FROM samples
    WHERE has_repeats
    GROUP BY is_base, lot, run
),

-- As random as can be and the same each time: hash of one number (that of several numbers is not).
draws AS (
    SELECT
        is_base, lot, replicate, key,
        least(n_blocks, 1 + floor(n_blocks * (hash(key + draw) / 2.0 ** 64)))::BIGINT AS number
    FROM plans
    CROSS JOIN range(2000) AS replicates (replicate)
    CROSS JOIN LATERAL (SELECT 1000000 * (2000 * is_base::BIGINT + replicate) AS key)
    CROSS JOIN LATERAL unnest(range(1, n_draws + 1)) AS numbers (draw)
    WHERE n >= 8 OR has_repeats
),

means AS (
    SELECT
        is_base, lot, replicate,
        ln(sum(work_ns) / sum(tokens)) AS log_rate,
        sum(above) / sum(n) AS above,
        hash(any_value(key)) / 2.0 ** 64 AS chance
    FROM draws
    INNER JOIN blocks USING (is_base, lot, number)
    GROUP BY is_base, lot, replicate
),

-- A replicate's median is the quantile with as many steps above it as the replicate has above the median of all.
-- Acceptance varies like a normal variable (Tukey's approximation of its quantile).
deviations AS (
    SELECT
        is_base, lot, replicate, freedom, p50_ns,
        sqrt(inflation) * (log_rate - avg(log_rate) OVER side) - noise * 4.91 * (chance ** 0.14 - (1 - chance) ** 0.14)
            AS rate,
        (n - 1) * least(greatest(0.5 + sqrt(inflation) * (above - avg(above) OVER side) / 2, 0), 1) AS p50_place
    FROM means
    INNER JOIN plans USING (is_base, lot)
    WINDOW side AS (PARTITION BY is_base, lot)
),

ordered AS (
    SELECT
        is_base, lot, work_ns,
        row_number() OVER line - 1 AS place,
        lead(work_ns, 1, work_ns) OVER line - work_ns AS to_next
    FROM samples
    WINDOW line AS (PARTITION BY is_base, lot ORDER BY work_ns)
),

replicates AS (
    SELECT
        is_base, lot, replicate, freedom, rate,
        ln((work_ns + (p50_place - place) * to_next) / p50_ns) AS p50
    FROM deviations
    INNER JOIN ordered USING (is_base, lot)
    WHERE ordered.place = floor(p50_place)
),

spreads AS (
    SELECT
        lot,
        quantile_cont(other.rate - base.rate, [0.025, 0.975]) AS ratio_spread,
        quantile_cont(other.p50 - base.p50, [0.025, 0.975]) AS step_spread,
        quantile_cont(other.rate, [0.025, 0.975]) AS rate_spread,
        quantile_cont(other.p50, [0.025, 0.975]) AS p50_spread,
        var_pop(base.rate) AS base_variance,
        var_pop(other.rate) AS other_variance,
        any_value(base.freedom) AS base_freedom,
        any_value(other.freedom) AS other_freedom
    FROM replicates AS base
    INNER JOIN replicates AS other USING (lot, replicate)
    WHERE base.is_base AND NOT other.is_base
    GROUP BY lot
),

-- A spread is an estimate itself: Student's t instead of 1.96, for a ratio with Welch's degrees of freedom.
intervals AS (
    SELECT
        spreads.*,
        list_transform(
            [
                coalesce(
                    (base_variance + other_variance) ** 2
                    / nullif(base_variance ** 2 / base_freedom + other_variance ** 2 / other_freedom, 0),
                    least(base_freedom, other_freedom)
                ),
                other_freedom
            ],
            lambda freedom: students_t(freedom) / 1.96
        ) AS stretch
    FROM spreads
),

figures AS MATERIALIZED (
    SELECT
        base, other, common.*,
        other.ns_per_token / base.ns_per_token AS ratio,
        other.p50_ns / base.p50_ns AS step_ratio,
        list_transform(ratio_spread, lambda x: ratio * exp(x * stretch[1])) AS ends,
        list_transform(step_spread, lambda x: step_ratio * exp(x * stretch[1])) AS step_ends,
        list_transform(rate_spread, lambda x: other.ns_per_token * exp(x * stretch[2])) AS rate_ends,
        list_transform(p50_spread, lambda x: other.p50_ns * exp(x * stretch[2])) AS p50_ends,
        CASE WHEN ends[2] < 1 THEN 'faster' WHEN ends[1] > 1 THEN 'slower' ELSE 'cannot tell' END AS finding,
        -- The interval shrinks with the root of the number of units.
        (ln(ratio / ends[if(ratio > 1, 1, 2)]) / ln(ratio)) ** 2 - 1 AS more
    FROM common
    INNER JOIN plans AS base ON base.is_base AND base.lot = common.lot
    INNER JOIN plans AS other ON NOT other.is_base AND other.lot = common.lot
    LEFT JOIN intervals ON intervals.lot = common.lot
),

found AS (
    SELECT
        whole.*,
        nullif(whole.lot.batch, -1) AS batch,
        steady.ratio AS steady_ratio,
        steady.ends AS steady_ends,
        steady.rate_ends AS steady_rate_ends,
        steady.finding AS steady_finding,
        if(steady.lot IS NULL, whole.more, steady.more) AS more_units
    FROM figures AS whole
    LEFT JOIN figures AS steady ON steady.lot.is_steady AND steady.lot.batch = whole.lot.batch
    WHERE NOT whole.lot.is_steady
)

SELECT
    kind,
    batch,
    lot = first(lot) OVER (ORDER BY n_least DESC, lot.batch) AS is_main,
    if(has_repeats, 'run', 'step') AS unit,
    is_unprofiled,
    if(has_tokens, 'token', 'step') AS basis,
    base.n AS base_steps,
    other.n AS other_steps,
    base.n_runs AS base_runs,
    other.n_runs AS other_runs,
    if(has_repeats, NULL, base.block) AS base_block,
    if(has_repeats, NULL, other.block) AS other_block,
    base.autocorrelation AS base_autocorrelation,
    other.autocorrelation AS other_autocorrelation,
    base.p50_ns AS base_step_p50_ns,
    other.p50_ns AS other_step_p50_ns,
    base.tokens_per_step AS base_tokens_per_step,
    other.tokens_per_step AS other_tokens_per_step,
    base.token_source AS base_token_source,
    other.token_source AS other_token_source,
    if(has_tokens, base.ns_per_token, NULL) AS base_ns_per_token,
    if(has_tokens, other.ns_per_token, NULL) AS other_ns_per_token,
    1e9 / base_ns_per_token AS base_tokens_per_s,
    1e9 / other_ns_per_token AS other_tokens_per_s,
    ratio,
    ends[1] AS ratio_low,
    ends[2] AS ratio_high,
    if(is_untold, NULL, 1 / ratio) AS speedup,
    if(is_untold, NULL, 1 / ends[2]) AS speedup_low,
    if(is_untold, NULL, 1 / ends[1]) AS speedup_high,
    step_ratio,
    step_ends[1] AS step_ratio_low,
    step_ends[2] AS step_ratio_high,
    if(has_tokens, rate_ends[1], NULL) AS other_ns_per_token_low,
    if(has_tokens, rate_ends[2], NULL) AS other_ns_per_token_high,
    1e9 / other_ns_per_token_high AS other_tokens_per_s_low,
    1e9 / other_ns_per_token_low AS other_tokens_per_s_high,
    p50_ends[1] AS other_step_p50_ns_low,
    p50_ends[2] AS other_step_p50_ns_high,
    base.stalled AS base_stalled,
    other.stalled AS other_stalled,
    base.longest_ns AS base_stalled_max_ns,
    other.longest_ns AS other_stalled_max_ns,
    steady_ratio,
    steady_ends[1] AS steady_ratio_low,
    steady_ends[2] AS steady_ratio_high,
    if(is_untold, NULL, 1 / steady_ratio) AS steady_speedup,
    if(is_untold, NULL, 1 / steady_ends[2]) AS steady_speedup_low,
    if(is_untold, NULL, 1 / steady_ends[1]) AS steady_speedup_high,
    if(has_tokens, steady_rate_ends[1], NULL) AS steady_other_ns_per_token_low,
    if(has_tokens, steady_rate_ends[2], NULL) AS steady_other_ns_per_token_high,
    1e9 / steady_other_ns_per_token_high AS steady_other_tokens_per_s_low,
    1e9 / steady_other_ns_per_token_low AS steady_other_tokens_per_s_high,
    is_untold AS has_unknown_tokens,
    coalesce(finding != steady_finding, false) AND NOT is_untold AS is_decided_by_stalls,
    if(is_untold OR is_decided_by_stalls, 'cannot tell', finding) AS verdict,
    CASE
        WHEN finding = 'cannot tell' AND NOT is_untold AND NOT is_decided_by_stalls AND more_units < 100
            THEN ceil(more_units * if(has_repeats, base.n_runs, base.n))::BIGINT
    END AS base_more,
    CASE WHEN base_more IS NOT NULL THEN ceil(more_units * if(has_repeats, other.n_runs, other.n))::BIGINT END AS other_more,
    ratio * other_tokens_per_step AS break_even_tokens_per_step
FROM found
ORDER BY batch
