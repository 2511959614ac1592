-- What NCCL's log tells of each of its kernels: calls in order, and templates of CUDA graphs.
--
-- The log has a line when a call is enqueued, never at a replay. Eager kernels go k-th to k-th with the
-- lines of a communicator, where its window has as many. A graph was logged as a streak of calls of one
-- size: a warm-up or more, and the capture. A streak fits a pass that replays a number of calls it is a
-- multiple of. Where streaks of several sizes fit, the kernels' channels tell (those that NCCL chose for a
-- size are logged), and the tokens of the step: the smallest captured size that holds them is replayed.
-- What neither tells apart is left open, never guessed.
--
-- A process is a stranger, of another run, where a communicator of its has more ranks than the run's world,
-- or where every trace tells its host and none is the log's: up to the first dot, as NCCL cuts names, and
-- with `-` for whatever is no letter or digit.
--
-- Makes: short_host, stranger, logged, claim, replayed_call, fitting, ledger.

CREATE TEMP MACRO short_host(host) AS
    lower(regexp_replace(split_part(host, '.', 1), '[^A-Za-z0-9]', '-', 'g'));

CREATE TEMP TABLE stranger AS
WITH process AS (
    SELECT file_id, host, pid, max(n_ranks) AS n_ranks
    FROM (
        SELECT file_id, host, pid, n_ranks FROM nccl_comm
        UNION ALL
        SELECT file_id, host, pid, n_ranks FROM nccl_call
        UNION ALL
        SELECT file_id, host, pid, NULL FROM nccl_tuning
    )
    GROUP BY file_id, host, pid
),
traced AS (
    SELECT
        list(DISTINCT short_host(host_name)) AS hosts,
        string_agg(DISTINCT host_name, ', ' ORDER BY host_name) AS names
    FROM file
    WHERE kind = 'trace'
    HAVING bool_and(coalesce(host_name, '') != '')
)
SELECT
    file_id, host, pid,
    CASE
        WHEN n_ranks > world_size
            THEN 'a communicator of ' || n_ranks || ' ranks, in a run of ' || world_size
        ELSE 'its host is ' || host || ', that of the traces ' || names
    END AS told
FROM process
CROSS JOIN run
LEFT JOIN traced ON true
WHERE coalesce(n_ranks > world_size, false) OR NOT coalesce(list_contains(hosts, short_host(host)), true);

INSERT INTO ledger
SELECT
    $run, file_id, 'log of NCCL of another run (kept, not used for collectives)', NULL, NULL, 0,
    string_agg(DISTINCT told, '; ' ORDER BY told), true
FROM stranger
GROUP BY file_id;

CREATE TEMP TABLE logged AS
SELECT
    hash(file_id, host, pid, comm) AS log_comm, rank, n_ranks, category, at_byte, logged_ns, n_elements,
    torch_name AS element, nccl_call.bytes // types.bytes AS n
FROM nccl_call
ANTI JOIN stranger USING (file_id, host, pid)
JOIN element_types() AS types ON name = bare_type(dtype)
-- NCCL's subsystem CALL says the same calls once more.
WHERE source = 'coll' OR file_id NOT IN (SELECT file_id FROM nccl_call WHERE source = 'coll');

INSERT INTO claim
WITH eager AS (
    SELECT *, row_number() OVER (PARTITION BY file_id, category ORDER BY start_ns, id) AS place
    FROM carried
    WHERE is_nccl AND NOT is_graph AND id NOT IN (SELECT id FROM claim WHERE source = 'args')
        AND EXISTS (FROM logged)
),
-- What was launched before the window comes before all else.
traced AS (
    SELECT
        file_id, category, any_value(eager.rank) AS rank, count(*) AS n_calls, count(at_ns) AS n_launched,
        any_value(window_start_ns) AS from_ns, any_value(window_end_ns) AS to_ns
    FROM eager
    JOIN file USING (file_id)
    GROUP BY file_id, category
    HAVING coalesce(max(start_ns) FILTER (at_ns IS NULL) < min(start_ns) FILTER (at_ns IS NOT NULL), true)
),
-- Stamps may be of another time zone, a whole number of quarters of an hour away: all that fit are tried.
zoned AS (
    SELECT
        file_id, category, log_comm, from_ns, n_calls, n_launched,
        floor((logged_ns - from_ns) / 900_000_000_000)::BIGINT * 900_000_000_000 AS shift_ns
    FROM logged
    JOIN traced USING (category)
    WHERE coalesce(traced.rank % n_ranks = logged.rank, true)
        AND coalesce(
            abs(logged_ns - from_ns) <= 14 * 3_600_000_000_000 AND logged_ns - shift_ns <= to_ns, true
        )
    GROUP BY ALL
    HAVING count(*) = CASE WHEN shift_ns IS NULL THEN n_calls ELSE n_launched END
),
ordered AS (
    SELECT
        file_id, category, element, n, n_ranks,
        row_number() OVER (PARTITION BY file_id, category, log_comm, shift_ns ORDER BY at_byte)
        - CASE
            WHEN shift_ns IS NULL THEN 0
            ELSE count_if(logged_ns - shift_ns < from_ns) OVER alike - (n_calls - n_launched)
        END AS place
    FROM logged
    JOIN zoned USING (log_comm, category)
    WINDOW alike AS (PARTITION BY file_id, category, log_comm, shift_ns)
)
SELECT
    eager.id, 'nccl_log',
    CASE WHEN count(DISTINCT (element, n)) = 1 THEN any_value(element) END,
    CASE WHEN count(DISTINCT (element, n)) = 1 THEN any_value(n) END,
    CASE WHEN min(n_ranks) = max(n_ranks) THEN any_value(n_ranks) END,
    'calls of ' || string_agg(DISTINCT n, ', ' ORDER BY n) || ' elements'
FROM eager
JOIN ordered USING (file_id, category, place)
GROUP BY eager.id;

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
