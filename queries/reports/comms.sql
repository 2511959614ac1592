-- Collectives by phase, implementation and message size: waiting, transfer, bandwidth, bound and class.
--
-- Answers: does a collective take long because it transfers or because it waits, and how near is it to what can be?
-- Grain: one row per signature (phase, category, impl, bytes), most time first.
-- Params:
--   $run VARCHAR: run to read.
--   $kind VARCHAR = NULL: one of prefill, decode, mixed, idle, unknown; NULL = decode where the run has such steps,
--     else its commonest kind.
--   $phase VARCHAR = NULL: one of prepare, forward, verify, sample, draft, other; NULL = all.
--   $category VARCHAR = NULL: only this category; NULL = all.
--   $rank INTEGER = NULL: times of this rank; NULL = the mean over ranks. The class is always of all ranks.
--   $dp INTEGER = NULL: only this data-parallel engine; NULL = all.
--   $calibration VARCHAR = NULL: run that holds a measured curve, see view calibrations; NULL = the run itself.
-- Columns:
--   phase VARCHAR: phase.
--   category VARCHAR: all_reduce, all_gather, ...
--   impl VARCHAR: implementation; NULL where the rule names none.
--   bytes BIGINT: size of the message; NULL where unknown.
--   bytes_source VARCHAR: best source of bytes among the calls; NULL without bytes.
--   dtype VARCHAR: element type; NULL where unknown.
--   is_fused BOOLEAN: true where the kernel does other work too: bandwidth is a lower bound.
--   algorithm VARCHAR: commonest that NCCL's log tells; NULL where none does.
--   protocol VARCHAR: likewise.
--   channels INTEGER: likewise, or of the grid of the kernel.
--   n_ranks BIGINT: ranks with a trace of a call, at most.
--   group_size INTEGER: ranks of the communicator; NULL where unknown.
--   n_matched BIGINT: calls matched over ranks.
--   matched_share DOUBLE: part of the calls of all ranks that belongs to them.
--   calls DOUBLE: mean calls per rank and step.
--   sum_ns BIGINT: mean time of them per rank and step, durations added up.
--   share_of_step DOUBLE: sum_ns / mean duration of the step.
--   dur_p50_ns BIGINT: median duration over calls and ranks.
--   dur_p95_ns BIGINT: 95th percentile of it.
--   transfer_p50_ns BIGINT: median over matched calls of the shortest duration over ranks.
--   transfer_p95_ns BIGINT: 95th percentile, likewise.
--   arrival_p50_ns BIGINT: median over matched calls of the arrival of the last rank less that of the first.
--   arrival_p95_ns BIGINT: 95th percentile, likewise.
--   wait_share DOUBLE: part of the matched calls' time that is no transfer; needs no clocks.
--   clocked_wait_share DOUBLE: part of it before the last rank had come, by the clocks.
--   busbw_gb_per_s DOUBLE: median bus bandwidth of the transfer (of the call where not matched), GB = 1e9.
--   model_ns BIGINT: what NCCL's own model allows, a lower bound; NULL where it does not apply.
--   is_below_model BOOLEAN: true where transfer_p50_ns is less than that by more than its rounding: 5 %.
--   measured_ns BIGINT: what the calibration measured at this size; NULL without.
--   last_dp INTEGER: engine of the rank that comes last most often; NULL like it.
--   last_rank INTEGER: rank that comes last most often; NULL unless matched, and where none does.
--   last_share DOUBLE: part of the matched calls in which it does.
--   host_share DOUBLE: part of what ranks wait that is for a late host (collective_calls.delay); NULL where nothing tells.
--   device_share DOUBLE: likewise, for longer work on a device.
--   class VARCHAR: transfer, skew, mixed or inconclusive, by wait_share; thresholds in docs/numbers.md.
--   missing VARCHAR: why it is inconclusive; NULL elsewhere.
-- Limits: calls of measured steps (steps.is_measured) only. Waiting is known of matched calls alone.

WITH chosen AS (
    SELECT dp, rank, step, dur_ns
    FROM chosen_steps($run, $kind, $dp)
),

thresholds AS (
    SELECT
        0.6 AS skew_from,
        0.25 AS transfer_to,
        0.5 AS matched_from,
        5 AS calls_from,
        0.3 AS estimates_differ_by,
        0.05 AS model_rounding
),

totals AS (
    SELECT
        count(DISTINCT (dp, step, rank)) AS n_rank_steps,
        avg(dur_ns) AS step_ns,
        (SELECT n_ranks FROM runs WHERE run = $run) AS n_traced
    FROM chosen
    WHERE $rank IS NULL OR rank = $rank
),

ranks AS (
    SELECT *
    FROM chosen_collectives($run, $kind, $dp, $phase, $category)
),

own AS (
    SELECT
        phase, category, impl, bytes,
        min(bytes_source::bytes_source)::VARCHAR AS bytes_source,
        mode(dtype) AS dtype,
        bool_or(is_fused) AS is_fused,
        mode(algorithm) AS algorithm,
        mode(protocol) AS protocol,
        mode(channels) AS channels,
        count(*) AS n,
        sum(dur_ns) AS sum_ns,
        quantile_cont(dur_ns, [0.5, 0.95]) AS durs,
        median(busbw_gb_per_s) AS busbw_gb_per_s,
        median(model_ns) AS model_ns
    FROM ranks
    WHERE $rank IS NULL OR rank = $rank
    GROUP BY phase, category, impl, bytes
),

calls AS (
    SELECT
        *,
        count(last_dp) OVER (PARTITION BY phase, category, impl, bytes, last_dp, last_rank) AS n_last
    FROM chosen_calls($run, $kind, $dp, $phase, $category)
),

over_ranks AS (
    SELECT
        phase, category, impl, bytes,
        max(n_ranks) AS n_ranks,
        max(group_size) AS group_size,
        count(*) FILTER (WHERE transfer_ns IS NOT NULL) AS n_matched,
        coalesce(sum(n_ranks) FILTER (WHERE transfer_ns IS NOT NULL), 0) / sum(n_ranks) AS matched_share,
        round(quantile_cont(transfer_ns, 0.5) FILTER (WHERE transfer_ns IS NOT NULL))::BIGINT AS transfer_p50_ns,
        round(quantile_cont(transfer_ns, 0.95) FILTER (WHERE transfer_ns IS NOT NULL))::BIGINT AS transfer_p95_ns,
        round(quantile_cont(arrival_spread_ns, 0.5) FILTER (WHERE transfer_ns IS NOT NULL))::BIGINT AS arrival_p50_ns,
        round(quantile_cont(arrival_spread_ns, 0.95) FILTER (WHERE transfer_ns IS NOT NULL))::BIGINT AS arrival_p95_ns,
        sum(waiting_ns) FILTER (WHERE transfer_ns IS NOT NULL) / nullif(sum(dur_ns) FILTER (WHERE transfer_ns IS NOT NULL), 0) AS wait_share,
        sum(wait_ns) FILTER (WHERE transfer_ns IS NOT NULL) / nullif(sum(dur_ns) FILTER (WHERE transfer_ns IS NOT NULL), 0) AS clocked_wait_share,
        delay_share('host', delay, others_wait_ns, late_starved_ns) AS host_share,
        delay_share('device', delay, others_wait_ns, late_starved_ns) AS device_share,
        arg_max({'dp': last_dp, 'rank': last_rank}, (n_last, -last_dp, -last_rank)) FILTER (WHERE n_last > 0) AS last,
        max(n_last) FILTER (WHERE n_last > 0) / count(*) FILTER (WHERE transfer_ns IS NOT NULL) AS last_share
    FROM calls
    GROUP BY phase, category, impl, bytes
),

-- The best of all modes at each size: what this machine can do.
curve AS (
    SELECT category, n_ranks, bytes, min(time_ns) AS time_ns
    FROM calibrations
    WHERE run = coalesce($calibration, $run) AND delayed_rank IS NULL
    GROUP BY category, n_ranks, bytes
),

around AS (
    SELECT
        over_ranks.category, over_ranks.group_size, over_ranks.bytes,
        max(curve.bytes) FILTER (WHERE curve.bytes <= over_ranks.bytes) AS low_bytes,
        arg_max(time_ns, curve.bytes) FILTER (WHERE curve.bytes <= over_ranks.bytes) AS low_ns,
        min(curve.bytes) FILTER (WHERE curve.bytes >= over_ranks.bytes) AS high_bytes,
        arg_min(time_ns, curve.bytes) FILTER (WHERE curve.bytes >= over_ranks.bytes) AS high_ns
    FROM (SELECT DISTINCT category, group_size, bytes FROM over_ranks) AS over_ranks
    INNER JOIN curve
        ON curve.category = over_ranks.category AND coalesce(curve.n_ranks = over_ranks.group_size, true)
    GROUP BY over_ranks.category, over_ranks.group_size, over_ranks.bytes
),

-- Between two sizes measured in a straight line; outside them nothing is known.
measured AS (
    SELECT
        category, group_size, bytes,
        low_ns + (high_ns - low_ns) * coalesce((bytes - low_bytes) / nullif(high_bytes - low_bytes, 0), 0) AS measured_ns
    FROM around
),

doubts AS (
    SELECT
        *,
        CASE
            WHEN n_traced = 1 THEN 'traces of one rank only'
            WHEN matched_share < matched_from
                THEN format('{:.0f} % of its calls are matched over ranks', 100 * matched_share)
            WHEN n_ranks < group_size THEN format('traces of {} of {} ranks', n_ranks, group_size)
            WHEN n_matched < calls_from THEN format('too few calls: {} of the {} needed', n_matched, calls_from)
            WHEN abs(wait_share - clocked_wait_share) > estimates_differ_by THEN format(
                'waiting is {:.0f} % without clocks, {:.0f} % by the clocks', 100 * wait_share, 100 * clocked_wait_share
            )
        END AS missing
    FROM over_ranks
    CROSS JOIN totals
    CROSS JOIN thresholds
)

SELECT
    own.phase,
    own.category,
    own.impl,
    own.bytes,
    bytes_source,
    dtype,
    is_fused,
    algorithm,
    protocol,
    channels,
    n_ranks,
    doubts.group_size,
    n_matched,
    matched_share,
    n / n_rank_steps AS calls,
    round(sum_ns / n_rank_steps)::BIGINT AS sum_ns,
    sum_ns / n_rank_steps / step_ns AS share_of_step,
    round(durs[1])::BIGINT AS dur_p50_ns,
    round(durs[2])::BIGINT AS dur_p95_ns,
    transfer_p50_ns,
    transfer_p95_ns,
    arrival_p50_ns,
    arrival_p95_ns,
    wait_share,
    clocked_wait_share,
    busbw_gb_per_s,
    round(model_ns)::BIGINT AS model_ns,
    coalesce(transfer_p50_ns < (1 - model_rounding) * model_ns, false) AS is_below_model,
    round(measured_ns)::BIGINT AS measured_ns,
    last.dp AS last_dp,
    last.rank AS last_rank,
    last_share,
    host_share,
    device_share,
    CASE
        WHEN missing IS NOT NULL OR wait_share IS NULL THEN 'inconclusive'
        WHEN wait_share >= skew_from THEN 'skew'
        WHEN wait_share <= transfer_to THEN 'transfer'
        ELSE 'mixed'
    END AS class,
    missing
FROM own
LEFT JOIN doubts
    ON doubts.phase = own.phase AND doubts.category = own.category
    AND doubts.impl IS NOT DISTINCT FROM own.impl AND doubts.bytes IS NOT DISTINCT FROM own.bytes
LEFT JOIN measured
    ON measured.category = own.category AND measured.bytes = own.bytes
    AND measured.group_size IS NOT DISTINCT FROM doubts.group_size
ORDER BY own.sum_ns DESC, own.phase, own.category, own.impl, own.bytes
