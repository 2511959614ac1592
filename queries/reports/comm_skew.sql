-- How far apart ranks arrive at their collectives and leave them, and what that costs in a step.
--
-- Answers: how much do ranks wait for one another, and do clocks and durations agree on it?
-- Grain: one row, or none without matched collectives.
-- Params:
--   $run VARCHAR: run to read.
--   $kind VARCHAR = NULL: one of prefill, decode, mixed, idle, unknown; NULL as in comms.
--   $phase VARCHAR = NULL: one of prepare, forward, verify, sample, draft, other; NULL = all.
--   $category VARCHAR = NULL: only this category; NULL = all.
--   $dp INTEGER = NULL: only this data-parallel engine; NULL = all.
-- Columns:
--   n_calls BIGINT: matched calls.
--   n_steps BIGINT: steps they are in.
--   arrival_p50_ns BIGINT: median of the arrival of the last rank less that of the first (entry skew); NULL, as all that
--     needs clocks, where clocks cannot be compared.
--   arrival_p95_ns BIGINT: 95th percentile of it.
--   completion_p50_ns BIGINT: median of the latest end less the earliest.
--   completion_p95_ns BIGINT: 95th percentile of it.
--   sum_ns BIGINT: mean time of the calls per rank and step, durations added up.
--   waiting_ns BIGINT: mean per rank and step of what they take longer than on the fastest rank: without clocks.
--   wait_ns BIGINT: mean per rank and step of the time until the last rank had come: by the clocks.
--   host_share DOUBLE: part of what ranks wait in calls whose last rank was late for its host (collective_calls.delay).
--   device_share DOUBLE: likewise, for it worked longer. NULL where nothing tells.
--   n_corrected BIGINT: ranks whose clock was corrected.
--   n_clocks BIGINT: ranks whose clock was checked.
--   n_hosts BIGINT: hosts they are on, as far as it is known.
--   clock_spread_ns BIGINT: how far ends of collectives lie from the offsets found, at most; NULL where none was sought.
--   n_early BIGINT: ends before another rank began that are left after correction.
-- Limits: matched calls of measured steps (steps.is_measured) only.

WITH ranks AS (
    SELECT *
    FROM chosen_collectives($run, $kind, $dp, $phase, $category)
    WHERE transfer_ns IS NOT NULL
),

calls AS (
    SELECT *
    FROM chosen_calls($run, $kind, $dp, $phase, $category)
    WHERE transfer_ns IS NOT NULL
),

own AS (
    SELECT
        count(DISTINCT (dp, step)) AS n_steps,
        sum(dur_ns) / count(DISTINCT (dp, rank, step)) AS sum_ns,
        sum(dur_ns - transfer_ns) / count(DISTINCT (dp, rank, step)) AS waiting_ns,
        sum(wait_ns) / count(DISTINCT (dp, rank, step)) AS wait_ns
    FROM ranks
),

clocks AS (
    SELECT
        count(*) FILTER (WHERE is_applied) AS n_corrected,
        count(*) AS n_clocks,
        count(DISTINCT host_name) AS n_hosts,
        max(spread_ns) AS clock_spread_ns,
        coalesce(sum(n_early_after), 0)::BIGINT AS n_early
    FROM clock_offset
    WHERE run = $run AND ($dp IS NULL OR dp = $dp)
)

SELECT
    count(*) AS n_calls,
    any_value(n_steps) AS n_steps,
    round(quantile_cont(arrival_spread_ns, 0.5))::BIGINT AS arrival_p50_ns,
    round(quantile_cont(arrival_spread_ns, 0.95))::BIGINT AS arrival_p95_ns,
    round(quantile_cont(completion_spread_ns, 0.5))::BIGINT AS completion_p50_ns,
    round(quantile_cont(completion_spread_ns, 0.95))::BIGINT AS completion_p95_ns,
    round(any_value(own.sum_ns))::BIGINT AS sum_ns,
    round(any_value(own.waiting_ns))::BIGINT AS waiting_ns,
    round(any_value(own.wait_ns))::BIGINT AS wait_ns,
    delay_share('host', delay, others_wait_ns, late_starved_ns) AS host_share,
    delay_share('device', delay, others_wait_ns, late_starved_ns) AS device_share,
    any_value(n_corrected) AS n_corrected,
    any_value(n_clocks) AS n_clocks,
    any_value(n_hosts) AS n_hosts,
    any_value(clock_spread_ns) AS clock_spread_ns,
    any_value(n_early) AS n_early
FROM calls
CROSS JOIN own
CROSS JOIN clocks
HAVING count(*) > 0
