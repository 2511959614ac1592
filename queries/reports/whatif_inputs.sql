-- What the report whatif reckons with: measured, modelled, assumed or given, and where it is from.
--
-- Answers: which inputs of a prediction were measured, and which only assumed?
-- Grain: one row per (subject, input, place).
-- Params:
--   $run VARCHAR = NULL: run to start from; NULL = none, all is given.
--   $calibrate VARCHAR = NULL: second run: speculative where $run is not, or the other way round.
--   $curve VARCHAR = NULL: run that holds a measured curve of all-reduces; NULL = $run or $calibrate.
--   $baseline_ns DOUBLE = NULL: time of a step without drafts at the run's own concurrency, in place of the measured one.
--   $verify_ns DOUBLE = NULL: time of the pass that verifies, at every K.
--   $tokens_per_step DOUBLE = NULL: tokens a stream gets of a step, at every K.
--   $acceptance VARCHAR = NULL: accepted of drafts by position, `0.87,0.68`; of one number, the rate at each position given
--     the one before.
--   $draft_ns DOUBLE = NULL: time of all drafting in a step, at every K.
--   $draft_fraction DOUBLE = NULL: time of a draft pass / time of the target's pass without drafts.
--   $draft_tp INTEGER = NULL: GPUs that the draft runs on: 1 = it has no all-reduces.
--   $all_reduces_per_draft DOUBLE = NULL: all-reduces that each drafted token costs.
--   $experts INTEGER = NULL: routed experts of a layer; NULL = as config.json has it.
--   $active_experts INTEGER = NULL: of them, those a token goes through.
-- Columns:
--   subject VARCHAR: baseline or speculative: of that run; position: of a draft; curve: a point of it; else model.
--   input VARCHAR: name.
--   place DOUBLE: position from 1, bytes of a point of the curve; NULL elsewhere.
--   value DOUBLE: value; times in ns.
--   error DOUBLE: half of its 95 % interval, where the steps or drafts behind it tell.
--   kind VARCHAR: measured, modelled, assumed or given (by the user, or by the model's config.json).
--   source VARCHAR: in words.
-- Limits: of two runs of a sort the first counts. Parts of the pass overlap: rest_ns closes them to pass_ns, other_ns the
--     phases to step_ns. Messages of an all-reduce are taken to grow with the tokens.

-- One run for each subject: of two of a sort the first counts.
WITH measured AS (
    SELECT
        if(is_speculative, 'speculative', 'baseline') AS subject,
        format(
            '{} decode step{} of {}', decode_costs.n_steps, if(decode_costs.n_steps = 1, '', 's'), decode_costs.run
        )
        || if(most > least, format(', of {} to {} requests, {:.1f} on average', least, most, n_requests), '')
        || if(n_stalled > 0, format(', {} stalled', n_stalled), '')
        || coalesce(format(', scaled to its window {}', unprofiled_window), '') AS words,
        decode_costs.*
    FROM decode_costs
    LEFT JOIN decode_loads() AS loads ON loads.run = decode_costs.run
    WHERE decode_costs.run IN ($run, $calibrate)
    QUALIFY row_number() OVER (PARTITION BY is_speculative ORDER BY decode_costs.run = $run DESC) = 1
),

measured_rows AS (
    -- A single step tells no error: it is taken to be off by half.
    SELECT subject, unnest([
        {'input': 'step_ns', 'value': step_ns, 'error': coalesce(step_error_ns, step_ns / 2)},
        {'input': 'steps', 'value': n_steps, 'error': NULL}, {'input': 'requests', 'value': n_requests, 'error': NULL},
        {'input': 'k', 'value': k, 'error': NULL},
        {'input': 'filled', 'value': n_drafted / nullif(k, 0), 'error': NULL},
        {'input': 'covered', 'value': if(k > 0, covered, NULL), 'error': NULL},
        {'input': 'tokens', 'value': n_tokens, 'error': NULL},
        {'input': 'pass_ns', 'value': pass_ns, 'error': NULL},
        {'input': 'gemm_ns', 'value': gemm_ns, 'error': NULL},
        {'input': 'moe_gemm_ns', 'value': moe_gemm_ns, 'error': NULL},
        {'input': 'all_reduce_ns', 'value': all_reduce_ns, 'error': NULL},
        {'input': 'attention_ns', 'value': attention_ns, 'error': NULL},
        {'input': 'rest_ns', 'value': pass_ns - gemm_ns - moe_gemm_ns - all_reduce_ns - attention_ns, 'error': NULL},
        {'input': 'draft_ns', 'value': draft_ns, 'error': NULL},
        {'input': 'sample_ns', 'value': sample_ns, 'error': NULL},
        {'input': 'idle_ns', 'value': idle_ns, 'error': NULL},
        {'input': 'draft_idle_ns', 'value': least(idle_ns, greatest(0, draft_host_ns - draft_ns)), 'error': NULL},
        {'input': 'other_ns', 'value': step_ns - pass_ns - draft_ns - sample_ns - idle_ns, 'error': NULL},
        {'input': 'all_reduces', 'value': n_all_reduces, 'error': NULL},
        {'input': 'waiting_ns', 'value': all_reduce_waiting_ns, 'error': NULL},
        {'input': 'message_bytes', 'value': message_bytes, 'error': NULL}
    ], recursive := true), 'measured' AS kind, words AS source
    FROM measured
),

config AS (
    SELECT max(experts) AS experts, max(active_experts) AS active_experts, max(layers) AS layers
    FROM model_configs([$run, $calibrate])
),

experts AS (
    SELECT
        CASE
            WHEN $experts >= $active_experts
                THEN {'all': $experts, 'active': $active_experts, 'kind': 'given', 'source': 'as given'}
            WHEN experts >= active_experts AND active_experts > 0
                THEN {'all': experts, 'active': active_experts, 'kind': 'given', 'source': 'config.json of the model'}
            ELSE {'all': 256, 'active': 8, 'kind': 'assumed', 'source': 'no config.json beside the run: give --experts'}
        END AS told
    FROM config
    WHERE (SELECT max(moe_gemm_ns) FROM measured) > 0
),

expert_rows AS (
    SELECT 'model' AS subject, unnest([
        {'input': 'experts', 'value': told.all::DOUBLE}, {'input': 'active_experts', 'value': told.active::DOUBLE}
    ], recursive := true), told.kind AS kind, told.source AS source
    FROM experts
),

-- The first way to know how an all-reduce grows with its message that has two sizes.
sizes AS (
    FROM all_reduce_sizes([$run, $calibrate], $curve)
),

chosen_curve AS (
    SELECT preference, run
    FROM sizes
    WHERE $curve IS NULL OR preference = 0
    GROUP BY preference, run
    HAVING count(*) > 1
    ORDER BY preference, run = $run DESC, run
    LIMIT 1
),

curve_rows AS (
    SELECT
        'curve' AS subject, 'all_reduce_ns' AS input, bytes::DOUBLE AS place,
        max(time_ns::DOUBLE) OVER (ORDER BY bytes) AS value, kind, source
    FROM sizes
    SEMI JOIN chosen_curve
        ON chosen_curve.preference = sizes.preference AND chosen_curve.run IS NOT DISTINCT FROM sizes.run
    WHERE (SELECT max(message_bytes) FROM measured) > 0
),

counted AS (
    SELECT measured.run, spec_decode.* EXCLUDE (run)
    FROM spec_decode
    INNER JOIN measured ON measured.run = spec_decode.run AND subject = 'speculative'
    WHERE $acceptance IS NULL
),

-- Without the tokens of a draft (SGLang's log may lack them), all of its K tokens at the rate of all.
totals AS (
    SELECT
        coalesce(mean_acceptance_length - 1, acceptance_rate * k) AS accepted_per_draft, drafts, 'drafts of ' || counted.run AS words
    FROM counted
    INNER JOIN measured ON measured.run = counted.run
    WHERE position IS NULL AND accepted_per_draft IS NOT NULL
),

rates AS (
    SELECT
        generate_subscripts(listed, 1) AS position, unnest(listed) AS rate, NULL AS drafts, len(listed) = 1 AS is_even,
        'given' AS kind, 'as given' AS source
    FROM (SELECT string_split($acceptance, ',')::DOUBLE[] AS listed)
    UNION ALL
    SELECT
        position + 1, acceptance_rate, drafts, false,
        'measured', coalesce(format('of {} drafts of {}', drafts, run), 'drafts of ' || run)
    FROM counted
    WHERE position IS NOT NULL
    UNION ALL
    SELECT 1, 0.7, NULL, true, 'assumed', 'no run tells: give --acceptance, or --calibrate'
    WHERE $acceptance IS NULL AND $tokens_per_step IS NULL AND (SELECT count(position) FROM counted) = 0
        AND (SELECT count(*) FROM totals) = 0
),

-- Agresti's and Coull's interval: 2 drafts accepted and 2 rejected are added, so that it works at none and all of n.
position_rows AS (
    SELECT
        'position' AS subject, 'acceptance' AS input, position::DOUBLE AS place, rate AS value,
        abs(rate - widened) + 1.96 * sqrt(widened * (1 - widened) / (drafts + 4)) AS error, kind, source
    FROM (SELECT *, (rate * drafts + 2) / (drafts + 4) AS widened FROM rates)
),

last_rate AS (
    SELECT
        arg_max(rate, position) / nullif(coalesce(arg_max(before, position), 1), 0) AS rate,
        max(position) AS position,
        max(drafts) AS drafts,
        bool_or(is_even) AS is_even,
        any_value(kind) AS kind,
        any_value(source) AS source
    FROM (SELECT *, lag(rate, 1, 1) OVER (ORDER BY position) AS before FROM rates)
    HAVING count(*) > 0
),

acceptance_rows AS (
    SELECT
        'model' AS subject, 'acceptance_beyond' AS input, coalesce(rate, 0) AS value,
        if(is_even, kind, 'assumed') AS kind,
        if(is_even, source, format('beyond position {}: as there, given the one before', position)) AS source
    FROM last_rate
    UNION ALL
    SELECT 'model', 'drafts', drafts, kind, 'behind the rates'
    FROM last_rate
    WHERE drafts > 0
    UNION ALL
    SELECT 'model', unnest(['acceptance_low', 'acceptance_high']), unnest([0.3, 0.9]), kind, 'for its range'
    FROM last_rate
    WHERE kind = 'assumed'
    UNION ALL
    SELECT
        'model', unnest(['accepted_per_draft', 'drafts']), unnest([accepted_per_draft, drafts]), 'measured', words
    FROM totals
    WHERE (SELECT count(position) FROM counted) = 0
),

given_rows AS (
    SELECT 'model' AS subject, input, value, 'given' AS kind, 'as given' AS source
    FROM (SELECT unnest([
        {'input': 'baseline_ns', 'value': $baseline_ns::DOUBLE},
        {'input': 'verify_ns', 'value': $verify_ns::DOUBLE},
        {'input': 'tokens_per_step', 'value': $tokens_per_step::DOUBLE}
    ], recursive := true))
),

-- What a drafted token costs: work of its own, and all-reduces.
drafting AS (
    SELECT
        max(k) FILTER (WHERE is_speculative) AS k,
        max(draft_ns) FILTER (WHERE is_speculative) AS draft_ns,
        max(draft_share_per_token) AS share,
        max('drafting of ' || run) FILTER (WHERE is_speculative) AS words,
        max(n_draft_all_reduces) FILTER (WHERE is_speculative) AS n_draft_all_reduces,
        max(n_all_reduces) AS n_all_reduces,
        coalesce(
            max(draft_all_reduce_ns / nullif(n_draft_all_reduces, 0)) FILTER (WHERE is_speculative),
            arg_min(all_reduce_ns / nullif(n_all_reduces, 0), is_speculative)
        ) AS call_ns
    FROM measured
),

draft_ways AS (
    SELECT
        drafting.*,
        CASE
            WHEN $draft_ns IS NOT NULL THEN 'given'
            WHEN $draft_fraction IS NOT NULL OR draft_ns IS NULL THEN 'fraction'
            WHEN draft_ns = 0 THEN 'host'
            ELSE 'measured'
        END AS way,
        -- With one drafted token to a draft, nothing tells what comes once a step.
        if(k = 1, 'assumed', 'measured') AS split_kind,
        if(k = 1, 'all, but of one token to a draft nothing tells what comes once a step: ', '') || words AS split_source,
        coalesce($draft_fraction, 2 / nullif(layers, 0), 0.05) AS fraction,
        CASE
            WHEN $draft_fraction IS NOT NULL THEN 'as given: of the target''s pass'
            WHEN layers > 0 THEN format('no run drafts: taken as 2 of {} layers of the target', layers)
            ELSE 'no run drafts: taken as a twentieth of the target''s pass'
        END AS fraction_source,
        CASE WHEN $draft_tp = 1 THEN 0 WHEN $draft_tp > 1 THEN 2 END AS n_of_layer
    FROM drafting
    CROSS JOIN config
),

draft_rows AS (
    SELECT 'model' AS subject, unnest(CASE way
        WHEN 'given' THEN [
            {'input': 'draft_step_ns', 'value': $draft_ns, 'kind': 'given', 'source': 'as given: all drafting of a step, at every K'}
        ]
        WHEN 'host' THEN [
            {'input': 'draft_step_ns', 'value': 0, 'kind': 'measured', 'source': 'on the host, in idle time: ' || words}
        ]
        WHEN 'fraction' THEN [{
            'input': 'draft_fraction', 'value': fraction, 'kind': if($draft_fraction IS NULL, 'assumed', 'given'),
            'source': fraction_source
        }]
        ELSE [
            {'input': 'draft_step_ns', 'value': draft_ns * (1 - share), 'kind': split_kind, 'source': split_source},
            {'input': 'draft_token_ns', 'value': draft_ns * share / k - coalesce(n_draft_all_reduces / k * call_ns, 0),
             'kind': split_kind, 'source': split_source}
        ]
    END, recursive := true)
    FROM draft_ways
    UNION ALL
    SELECT
        'model', 'draft_all_reduces',
        coalesce($all_reduces_per_draft, CASE
            WHEN way = 'measured' AND coalesce($draft_tp, 2) > 1
                THEN coalesce(nullif(n_draft_all_reduces / k, 0), n_of_layer)
            WHEN way = 'fraction' THEN coalesce(n_of_layer, fraction * n_all_reduces)
            ELSE n_of_layer
        END, 0),
        CASE
            WHEN $all_reduces_per_draft IS NOT NULL OR $draft_tp = 1 THEN 'given'
            WHEN way = 'measured' AND n_draft_all_reduces > 0 THEN 'measured'
            ELSE 'assumed'
        END,
        'of each drafted token'
    FROM draft_ways
    UNION ALL
    SELECT 'model', 'draft_all_reduce_ns', call_ns, 'measured', 'a call, waiting and all'
    FROM draft_ways
)

SELECT subject, input, place, value::DOUBLE AS value, error, kind, source
FROM (
    FROM measured_rows
    UNION ALL BY NAME FROM expert_rows
    UNION ALL BY NAME FROM curve_rows
    UNION ALL BY NAME FROM position_rows
    UNION ALL BY NAME FROM acceptance_rows
    UNION ALL BY NAME FROM draft_rows
    UNION ALL BY NAME FROM given_rows
)
WHERE value IS NOT NULL
ORDER BY list_position(['baseline', 'speculative', 'model', 'position', 'curve'], subject), place, input
