-- What NCCL's log tells of kernels that CUDA graphs replay: templates.
--
-- A graph was logged as a streak of calls of one size: a warm-up or more, and the capture. A streak fits a
-- pass that replays a number of calls it is a multiple of. Where streaks of several sizes fit, the kernels'
-- channels tell (those that NCCL chose for a size are logged), and the tokens of the step: the smallest
-- captured size that holds them is replayed. What neither tells apart is left open, never guessed.
--
-- Makes: replayed_call, fitting, claim.

-- A pass of the model is what one graph launch replays, or the many small graphs of a forward together.
CREATE TEMP TABLE replayed_call AS
WITH replayed AS (
    SELECT
        *,
        phase IN ('forward', 'verify') AND step IS NOT NULL
        AND min(launch_id) OVER in_phase < max(launch_id) OVER in_phase AS is_piecewise
    FROM carried
    WHERE is_nccl AND is_graph AND EXISTS (FROM logged)
    WINDOW in_phase AS (PARTITION BY file_id, step, phase)
),
in_pass AS (
    SELECT
        *, hash(file_id, phase, category, is_piecewise, CASE WHEN is_piecewise THEN step ELSE launch_id END)
            AS pass_id
    FROM replayed
)
SELECT
    id, file_id, dp, rank, step, phase, category, pass_id, channels, is_piecewise, graph_id,
    count(*) OVER (PARTITION BY pass_id) AS n_calls
FROM in_pass;

-- Sizes whose streaks fit a number of calls; those logged a few times in a row (warm-up, capture) come first.
CREATE TEMP TABLE fitting AS
WITH marked AS (
    SELECT
        *, lag((element, n_elements)) OVER in_comm IS DISTINCT FROM (element, n_elements) AS is_first
    FROM logged
    WHERE EXISTS (FROM replayed_call)
    WINDOW in_comm AS (PARTITION BY log_comm, category ORDER BY at_byte)
),
numbered AS (
    SELECT *, count_if(is_first) OVER (PARTITION BY log_comm, category ORDER BY at_byte) AS nth
    FROM marked
),
streak AS (
    SELECT log_comm, nth, category, rank, n_ranks, element, n_elements, n, count(*) AS n_logged
    FROM numbered
    GROUP BY ALL
),
fitted AS (
    SELECT
        form.*, element, n_elements, n, n_ranks, bool_or(n_logged // n_calls BETWEEN 2 AND 4) AS is_repeated
    FROM (SELECT DISTINCT rank, category, n_calls FROM replayed_call) AS form
    JOIN streak
        ON streak.category = form.category AND n_logged % n_calls = 0
        AND coalesce(form.rank % n_ranks = streak.rank, true)
    GROUP BY ALL
)
SELECT * EXCLUDE (is_repeated)
FROM fitted
QUALIFY is_repeated OR NOT bool_or(is_repeated) OVER (PARTITION BY rank, category, n_calls);

INSERT INTO claim
WITH pass AS (
    SELECT
        pass_id, category, n_calls, phase, dp, rank, any_value(step) AS step,
        -- A graph is the same at every replay, or events were lost.
        bool_and(is_piecewise OR graph_id IS NULL OR is_constant) AS is_whole,
        CASE WHEN min(channels) = max(channels) THEN any_value(channels) END AS channels
    FROM (
        SELECT *, min(n_calls) OVER in_graph = max(n_calls) OVER in_graph AS is_constant
        FROM replayed_call
        WINDOW in_graph AS (PARTITION BY file_id, graph_id, category)
    )
    GROUP BY ALL
),
tuned AS (
    SELECT category, bytes, list(DISTINCT n_channels) AS channels
    FROM nccl_tuning
    ANTI JOIN stranger USING (file_id, host, pid)
    WHERE n_channels IS NOT NULL
    GROUP BY ALL
),
option AS (
    SELECT
        pass_id, is_whole, fitting.element, n, n_elements, n_ranks,
        coalesce(list_contains(tuned.channels, pass.channels), true) AS has_channels,
        CASE
            WHEN pass.phase IN ('forward', 'verify')
                THEN size * (n_prefill_tokens::BIGINT + n_decode_tokens)
        END AS least,
        n_elements % size = 0 AND n_elements >= least AS holds
    FROM pass
    JOIN fitting
        ON fitting.category = pass.category AND fitting.n_calls = pass.n_calls
        AND fitting.rank IS NOT DISTINCT FROM pass.rank
    LEFT JOIN step
        ON step.dp = pass.dp AND step.rank IS NOT DISTINCT FROM pass.rank AND step.step = pass.step
    LEFT JOIN hidden ON true
    LEFT JOIN (SELECT DISTINCT torch_name, bytes FROM element_types()) AS types
        ON types.torch_name = fitting.element
    LEFT JOIN tuned ON tuned.category = pass.category AND tuned.bytes = n_elements * types.bytes
),
compared AS (
    SELECT *, min(n_elements) FILTER (holds) OVER (PARTITION BY pass_id) AS smallest
    FROM option
),
told AS (
    SELECT
        pass_id, any_value(element) AS element, any_value(n) AS n,
        CASE WHEN min(n_ranks) = max(n_ranks) THEN any_value(n_ranks) END AS n_ranks
    FROM compared
    WHERE is_whole AND has_channels AND (least IS NULL OR n_elements = smallest)
    GROUP BY pass_id
    HAVING count(DISTINCT (element, n)) = 1
),
candidate AS (
    SELECT pass_id, string_agg(DISTINCT n, ', ' ORDER BY n) AS sizes
    FROM option
    GROUP BY pass_id
)
SELECT
    replayed_call.id, 'nccl_log', told.element, told.n, told.n_ranks,
    'replays of ' || n_calls || ' calls: ' || coalesce(sizes || ' elements fit', 'no size in the log fits')
FROM replayed_call
LEFT JOIN told USING (pass_id)
LEFT JOIN candidate USING (pass_id);
