-- Macros over steps that several reports share; stored in the database beside the views they read.

-- What tells the tokens of several steps: the least certain of their sources.
CREATE OR REPLACE MACRO least_certain(sources) AS
list_filter(['log', 'counters', 'rule', 'trace'], lambda source: list_contains(sources, source))[1];

-- Whether a step stalled, by the median step of its run: of some steps so long, no interval can be told.
CREATE OR REPLACE MACRO is_stalled(work_ns, p50_ns) AS work_ns > 3 * p50_ns;

-- Measured steps of a run, a row for each rank: of a kind, by default the run's main one.
CREATE OR REPLACE MACRO chosen_steps(of_run, of_kind, of_dp) AS TABLE
SELECT *
FROM steps
WHERE run = of_run AND is_measured AND (of_dp IS NULL OR dp = of_dp)
    AND kind = coalesce(of_kind, (SELECT main_kind FROM runs WHERE run = of_run));

-- Steps that a page is about, a row for each rank, and whether their times are shown (`is_shown`): those of a
-- kind, by default the run's main one, where they are measured; or those of one number, cut ones too. Engines run
-- steps of one number side by side: then their kind is by default decode, else that of most.
CREATE OR REPLACE MACRO asked_steps(of_run, of_kind, of_dp, of_rank, of_step) AS TABLE
WITH here AS (
    SELECT *, min(start_ns) OVER (PARTITION BY dp, rank) AS first_step_ns
    FROM steps
    WHERE run = of_run AND (of_dp IS NULL OR dp = of_dp) AND (of_rank IS NULL OR rank = of_rank)
)

SELECT
    *,
    dur_ns IS NOT NULL AND (is_measured OR of_step IS NOT NULL) AS is_shown
FROM here
WHERE (of_step IS NULL OR step = of_step)
    AND kind = coalesce(of_kind, CASE
        WHEN of_step IS NULL THEN (SELECT main_kind FROM runs WHERE run = of_run)
        ELSE (
            SELECT kind
            FROM here
            WHERE step = of_step AND dur_ns IS NOT NULL
            GROUP BY kind
            ORDER BY kind = 'decode' DESC, count(*) DESC, kind
            LIMIT 1
        )
    END);

-- What config.json says of the models of runs. The target's is the one with experts: drafters have none.
CREATE OR REPLACE MACRO model_configs(of_runs) AS TABLE
SELECT
    run,
    max(TRY_CAST(coalesce(
        metadata ->> '$.n_routed_experts', metadata ->> '$.text_config.n_routed_experts',
        metadata ->> '$.num_local_experts', metadata ->> '$.text_config.num_local_experts',
        metadata ->> '$.num_experts', metadata ->> '$.text_config.num_experts'
    ) AS INTEGER)) AS experts,
    max(TRY_CAST(coalesce(
        metadata ->> '$.num_experts_per_tok', metadata ->> '$.text_config.num_experts_per_tok'
    ) AS INTEGER)) AS active_experts,
    max(TRY_CAST(coalesce(
        metadata ->> '$.num_hidden_layers', metadata ->> '$.text_config.num_hidden_layers'
    ) AS INTEGER)) AS layers,
    max(TRY_CAST(coalesce(
        metadata ->> '$.hidden_size', metadata ->> '$.text_config.hidden_size'
    ) AS INTEGER)) AS hidden_size
FROM file
WHERE list_contains(of_runs, run) AND kind = 'config'
GROUP BY run;

-- Experts of a layer that tokens touch, each choosing some of all evenly.
CREATE OR REPLACE MACRO experts_touched(experts, active_experts, tokens) AS
experts * (1 - (1 - active_experts / experts) ** tokens);

-- Collectives in those steps, a row for each rank.
CREATE OR REPLACE MACRO chosen_collectives(of_run, of_kind, of_dp, of_phase, of_category) AS TABLE
SELECT collectives.*
FROM collectives
SEMI JOIN chosen_steps(of_run, of_kind, of_dp) AS chosen
    ON chosen.dp = collectives.dp
    AND chosen.rank IS NOT DISTINCT FROM collectives.rank
    AND chosen.step = collectives.step
WHERE run = of_run
    AND (of_phase IS NULL OR phase = of_phase)
    AND (of_category IS NULL OR category = of_category);

-- The same a row for each call, over the ranks of it.
CREATE OR REPLACE MACRO chosen_calls(of_run, of_kind, of_dp, of_phase, of_category) AS TABLE
SELECT *
FROM collective_calls
SEMI JOIN chosen_collectives(of_run, of_kind, of_dp, of_phase, of_category) AS ranks
    ON ranks.collective = collective_calls.collective
WHERE run = of_run;

-- What makes of a run's traced times those of its server without the profiler, and the tokens that a stream
-- got of a step there, where that was counted; where a run of the list has no such window, all stays as traced.
CREATE OR REPLACE MACRO unprofiled_speed(of_runs) AS TABLE
SELECT
    run,
    count(trace_factor) OVER () = count(*) OVER () AS is_unprofiled,
    if(is_unprofiled, trace_factor, 1) AS time_factor,
    if(is_unprofiled, tokens_per_step, NULL) AS window_tokens
FROM (SELECT unnest(of_runs) AS run)
LEFT JOIN (FROM windows WHERE is_quoted) USING (run);

-- Steps of both sides of a comparison, ranks reduced, with the batch that makes them comparable: the
-- requests of the step, or -1 for all where some step does not tell them. Decode steps are as long, and give
-- as many tokens on average, as without the profiler where that is known of all runs.
CREATE OR REPLACE MACRO sided_steps(base_runs, other_runs, of_kind, of_dp) AS TABLE
WITH chosen AS (
    SELECT
        * EXCLUDE (time_factor, window_tokens),
        if(kind = 'decode', time_factor, 1) AS factor,
        if(kind = 'decode', coalesce(window_tokens * n_streams, expected_tokens), expected_tokens) AS tokens,
        if(kind = 'decode' AND is_verify AND window_tokens IS NOT NULL, 'counters', token_source) AS source
    FROM step_units
    INNER JOIN unprofiled_speed(list_concat(base_runs, other_runs)) USING (run)
    WHERE (of_dp IS NULL OR dp = of_dp)
        AND kind = coalesce(of_kind, (SELECT min_by(main_kind, run) FROM runs WHERE list_contains(base_runs, run)))
)

SELECT
    * EXCLUDE (n_reqs, tokens, source)
    REPLACE (
        factor * work_ns AS work_ns,
        factor * idle_ns AS idle_ns,
        tokens AS expected_tokens,
        source AS token_source,
        is_unprofiled AND kind = 'decode' AS is_unprofiled
    ),
    CASE WHEN count(n_reqs) OVER () = count(*) OVER () THEN n_reqs ELSE -1 END AS batch,
    list_contains(base_runs, run) AS is_base
FROM chosen;

-- Of them, those of the batch that both sides have most steps of, or of the one asked for.
CREATE OR REPLACE MACRO matched_steps(base_runs, other_runs, of_kind, of_dp, of_batch) AS TABLE
WITH sided AS (
    SELECT * FROM sided_steps(base_runs, other_runs, of_kind, of_dp)
),

main AS (
    SELECT batch, any_value(kind) = 'decode' AND count(expected_tokens) = count(*) AS has_tokens
    FROM sided
    WHERE of_batch IS NULL OR batch = of_batch
    GROUP BY batch
    HAVING bool_or(is_base) AND NOT bool_and(is_base)
    ORDER BY least(count(*) FILTER (WHERE is_base), count(*) FILTER (WHERE NOT is_base)) DESC, batch
    LIMIT 1
)

SELECT *, count(*) OVER (PARTITION BY is_base) AS n
FROM sided
INNER JOIN main USING (batch);
