-- Tokens that steps emitted, from vLLM's detailed annotation (0.26+): sums over requests of the tokens
-- scheduled (sq), of those and all computed before (sk), and of squares (sqsq), for prefill and decode.
--
-- What a request has computed before the next step, over what it had before this one, is what this step
-- emitted for it, so sums tell as long as the requests stay the same; where one ends with drafts to check,
-- nothing does. A prefill emits one token, when it is whole: then nobody in prefill has computed anything
-- before the next step. An engine that schedules ahead takes drafts for accepted until it knows better, so
-- drafts are told only of engines known not to: on CPU, with drafters that run on the host, or by run.json.
-- Pipeline stages run batches in turn, so that the next step has other requests.
--
-- Makes: emitted.

CREATE TEMP TABLE emitted AS
WITH known AS (
    SELECT
        coalesce(num_speculative_tokens, 64) AS most_drafts,
        (SELECT backend FROM backend) = 'cpu'
        OR speculative_method IN ('ngram', 'suffix', 'medusa', 'mlp_speculator')
        OR coalesce((context ->> '$.server_args.async_scheduling') = 'false', false) AS is_in_turn
    FROM run
    WHERE run = $run
),
detailed AS (
    SELECT
        file_id, k, n_prefill_reqs AS c, n_decode_reqs AS g,
        regexp_extract(
            execute_name,
            '_context_\d+\(sq(\d+)sk(\d+)sqsq\d+sqsk\d+\)_generation_\d+\(sq(\d+)sk(\d+)sqsq(\d+)sqsk\d+\)$',
            ['c_new', 'c_all', 'g_new', 'g_all', 'g_squares']
        ) AS said
    FROM host_step
    WHERE contains(execute_name, 'sqsq')
        AND NOT EXISTS (FROM file WHERE regexp_matches(path, '_pp[1-9]'))
),
summed AS (
    SELECT
        file_id, k, c, g,
        try_cast(said.c_new AS BIGINT) AS c_new, try_cast(said.c_all AS BIGINT) AS c_all,
        try_cast(said.g_new AS BIGINT) AS g_new, try_cast(said.g_all AS BIGINT) AS g_all,
        try_cast(said.g_squares AS BIGINT) AS g_squares
    FROM detailed
),
followed AS (
    SELECT
        *,
        lead(g) OVER in_file AS next_g,
        lead(c_all - c_new) OVER in_file AS next_c_before,
        lead(g_all - g_new) OVER in_file AS next_g_before
    FROM summed
    WINDOW in_file AS (PARTITION BY file_id ORDER BY k)
),
begun AS (
    SELECT
        *,
        CASE
            WHEN c = 0 OR c = 1 AND next_c_before = c_all THEN 0
            WHEN next_c_before = 0 THEN c
        END AS first_tokens
    FROM followed
),
grown AS (
    SELECT
        *,
        CASE
            -- A request that was preempted comes back with more tokens than drafts can be.
            WHEN is_in_turn AND next_g = g + first_tokens AND g_squares <= (most_drafts + 1) * g_new
                THEN next_g_before - (g_all - g_new) - if(first_tokens > 0, c_all, 0)
        END AS growth
    FROM begun
    CROSS JOIN known
)
SELECT
    file_id, k,
    first_tokens + CASE WHEN g_new = g THEN g WHEN growth BETWEEN g AND g_new THEN growth END AS n
FROM grown;
