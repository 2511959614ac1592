-- Collective calls over all their ranks: who came last, by how much, and why.
--
-- Answers: which rank do the others wait for, and is its host or its device late?
-- Grain: one row per (run, collective).
-- Columns:
--   run VARCHAR: run.
--   dp INTEGER: data-parallel engine; NULL where several take part.
--   collective INTEGER: number of the call within the run, as in collectives.
--   comm VARCHAR: communicator.
--   seq BIGINT: place in the order of its communicator.
--   step INTEGER: engine step; NULL where none can be told.
--   phase VARCHAR: phase.
--   category VARCHAR: all_reduce, all_gather, ...
--   impl VARCHAR: implementation; NULL where the rule names none.
--   bytes BIGINT: size of the message; NULL where unknown.
--   group_size INTEGER: ranks of the communicator: as in collectives, but no less than the ranks the engine has for it
--     where its calls name no process group; NULL where unknown.
--   n_ranks BIGINT: ranks with a trace of it.
--   match VARCHAR: how its ranks were found: exact, template, order or none.
--   is_whole BOOLEAN: true where it is matched over all ranks of the communicator.
--   start_ns BIGINT: arrival of the first rank, on corrected clocks.
--   dur_ns DOUBLE: mean duration over ranks.
--   transfer_ns BIGINT: shortest duration over ranks; NULL unless matched.
--   waiting_ns DOUBLE: dur_ns less transfer_ns: waiting without clocks.
--   wait_ns DOUBLE: mean time from a rank's arrival to that of the last: waiting by the clocks.
--   arrival_spread_ns BIGINT: arrival of the last rank less that of the first (entry skew); NULL unless matched.
--   completion_spread_ns BIGINT: latest end less earliest end, on corrected clocks; NULL unless matched.
--   last_dp INTEGER: engine of the rank that came last; NULL like it.
--   last_rank INTEGER: rank that came last, the lowest of several; where clocks cannot be compared, that with the
--     shortest duration. NULL unless matched, and where nobody waited.
--   others_wait_ns DOUBLE: what the other ranks waited for it on average.
--   late_launch_ns BIGINT: launch on the last rank less the median of the others'; NULL without launches.
--   late_starved_ns DOUBLE: by how much longer nothing was queued there since its call before; NULL likewise.
--   late_work_ns DOUBLE: by how much longer it worked since its call before; NULL likewise, and for a first call.
--   delay VARCHAR: host or device: what makes up half of others_wait_ns or more, late_starved_ns or late_work_ns; NULL
--     where neither does, where nothing tells, and where nobody waited.
-- Limits: ranks whose trace is missing may come later still. Completion needs clocks that are corrected; see clock_offset.

WITH ranks AS (
    SELECT
        *,
        coalesce(wait_ns, dur_ns - transfer_ns) AS waited_ns,
        start_ns + coalesce(offset_ns, 0) AS at_ns,
        start_ns - starved_ns - lag(start_ns + dur_ns) OVER before AS work_ns
    FROM collectives
    WINDOW before AS (PARTITION BY run, dp, rank, comm ORDER BY start_ns, collective)
),

calls AS (
    SELECT
        run,
        CASE WHEN min(dp) = max(dp) THEN min(dp) END AS dp,
        collective,
        any_value(comm) AS comm,
        any_value(seq) AS seq,
        max(step) AS step,
        min(phase) AS phase,
        any_value(category) AS category,
        any_value(impl) AS impl,
        max(bytes) AS bytes,
        max(group_size) AS group_size,
        count(*) AS n_ranks,
        any_value(match) AS match,
        min(at_ns) AS start_ns,
        avg(dur_ns) AS dur_ns,
        any_value(transfer_ns) AS transfer_ns,
        avg(wait_ns) AS wait_ns,
        max(wait_ns) AS arrival_spread_ns,
        max(at_ns + dur_ns) - min(at_ns + dur_ns) AS completion_spread_ns,
        CASE WHEN max(waited_ns) > 0 THEN min({'dp': dp, 'rank': rank}) FILTER (WHERE waited_ns = 0) END AS last,
        sum(waited_ns) / nullif(count(*) - 1, 0) AS others_wait_ns,
        first(launch_ns ORDER BY waited_ns, dp, rank) - quantile_disc(launch_ns, 0.5) FILTER (WHERE waited_ns > 0)
            AS late_launch_ns,
        first(starved_ns ORDER BY waited_ns, dp, rank) - median(starved_ns) FILTER (WHERE waited_ns > 0) AS late_starved_ns,
        first(work_ns ORDER BY waited_ns, dp, rank) - median(work_ns) FILTER (WHERE waited_ns > 0) AS late_work_ns
    FROM ranks
    GROUP BY run, collective
)

SELECT
    calls.run,
    dp,
    collective,
    comm,
    seq,
    step,
    phase,
    category,
    impl,
    bytes,
    expected.group_size,
    n_ranks,
    match,
    coalesce(transfer_ns IS NOT NULL AND n_ranks > 1 AND n_ranks >= expected.group_size, false) AS is_whole,
    start_ns,
    dur_ns,
    transfer_ns,
    dur_ns - transfer_ns AS waiting_ns,
    wait_ns,
    arrival_spread_ns,
    CASE WHEN wait_ns IS NOT NULL THEN completion_spread_ns END AS completion_spread_ns,
    last.dp AS last_dp,
    last.rank AS last_rank,
    others_wait_ns,
    late_launch_ns,
    late_starved_ns,
    late_work_ns,
    CASE
        WHEN is_most(late_starved_ns, others_wait_ns) THEN 'host'
        WHEN is_most(late_work_ns, others_wait_ns) THEN 'device'
    END AS delay
FROM calls
INNER JOIN run ON run.run = calls.run
CROSS JOIN LATERAL (
    SELECT greatest(
        calls.group_size,
        CASE WHEN match <> 'exact' AND starts_with(comm, 'unnamed ') THEN coalesce(tensor_parallel, world_size) END
    ) AS group_size
) AS expected
