-- What of a run's collectives is doubtful or not known, and what to do about it.
--
-- Answers: how far can waiting, transfer and bandwidth be trusted, and what would make them surer?
-- Grain: one row per (issue, place), what matters most first.
-- Params:
--   $run VARCHAR: run to read.
-- Columns:
--   issue VARCHAR: no_collectives, one_rank, missing_ranks, unmatched, not_whole, several_hosts, early_end, no_clock, clock, ledger, no_step,
--     unknown_type, no_bytes, model_bytes, below_model or fused.
--   place VARCHAR: category, rank or reason in the ledger it is about; NULL where it is the run.
--   n BIGINT: calls of ranks, or ranks, it is about.
--   of_n BIGINT: calls of ranks, or ranks, there are; NULL of files.
--   text VARCHAR: what it is, in words.
--   advice VARCHAR: what to do; NULL where nothing is to be done.
-- Limits: what NCCL itself warns of is in comm_warnings.

WITH facts AS (
    SELECT n_ranks, world_size
    FROM runs
    SEMI JOIN collectives ON collectives.run = runs.run
    WHERE runs.run = $run
),

ranks AS (
    SELECT
        collectives.category,
        count(*) AS of_n,
        count(*) FILTER (WHERE collectives.transfer_ns IS NULL) AS n_unmatched,
        count(*) FILTER (WHERE collectives.transfer_ns IS NOT NULL AND NOT is_whole) AS n_not_whole,
        count(*) FILTER (WHERE collectives.transfer_ns IS NOT NULL) AS n_matched,
        count(*) FILTER (WHERE collectives.transfer_ns IS NOT NULL AND collectives.wait_ns IS NULL) AS n_without_wait,
        count(*) FILTER (WHERE collectives.step IS NULL) AS n_without_step,
        count(*) FILTER (WHERE collectives.bytes IS NULL) AS n_without_bytes,
        count(*) FILTER (WHERE bytes_source = 'model') AS n_by_model,
        count(*) FILTER (WHERE is_fused) AS n_fused
    FROM collectives
    INNER JOIN collective_calls AS calls
        ON calls.run = collectives.run AND calls.collective = collectives.collective
    WHERE collectives.run = $run
    GROUP BY collectives.category
),

clocks AS (
    SELECT
        *,
        'rank ' || CASE WHEN count(*) OVER () > count(DISTINCT rank) OVER () THEN dp || '.' ELSE '' END
        || coalesce(rank::VARCHAR, '?') AS place,
        count(*) OVER () AS n_clocks,
        count(DISTINCT host_name) OVER () AS n_hosts
    FROM clock_offset
    WHERE run = $run
),

corrections AS (
    SELECT max(abs(offset_ns)) AS max_ns
    FROM collectives
    WHERE run = $run
),

early AS (
    SELECT
        place, is_applied, n_early_after, n_early_after > 0 AS is_early, coalesce(matched.n, 0) AS n_matched,
        row_number() OVER (ORDER BY n_early_after DESC, clocks.dp, clocks.rank) AS place_in_text
    FROM clocks
    LEFT JOIN (
        SELECT dp, rank, count(*) AS n
        FROM collectives
        WHERE run = $run AND transfer_ns IS NOT NULL
        GROUP BY dp, rank
    ) AS matched ON matched.dp = clocks.dp AND matched.rank IS NOT DISTINCT FROM clocks.rank
),

-- Five per cent: NCCL's table has tenths of us and of GB/s.
below AS (
    SELECT
        collectives.category,
        count(*) AS n,
        max(1 - transfer_ns / model_ns) AS most,
        string_agg(DISTINCT kind || ' ', 'and ' ORDER BY kind || ' ') AS kinds,
        min(bytes) AS min_bytes,
        max(bytes) AS max_bytes,
        EXISTS (
            SELECT 1
            FROM nccl_model
            WHERE nccl_model.run = $run AND nccl_model.category = collectives.category AND algbw_gb_per_s > 0
        ) AS is_logged
    FROM collectives
    LEFT JOIN steps
        ON steps.run = $run AND steps.dp = collectives.dp AND steps.rank IS NOT DISTINCT FROM collectives.rank
        AND steps.step = collectives.step
    WHERE collectives.run = $run AND transfer_ns < 0.95 * model_ns
    GROUP BY collectives.category
),

issues AS (
    SELECT
        0 AS place_in_order, 'no_collectives' AS issue, NULL AS place, 0 AS n, 0 AS of_n,
        'there are no collectives in it' AS text, NULL AS advice
    WHERE (SELECT count(*) FROM ranks) = 0
    UNION ALL
    SELECT
        1, 'one_rank', NULL, 1, coalesce(world_size, 1),
        'traces of one rank only: waiting and transfer cannot be told apart',
        'profile every rank, and ingest their traces as one run'
    FROM facts
    WHERE n_ranks = 1
    UNION ALL
    SELECT
        2, 'missing_ranks', NULL, n_ranks, world_size,
        format('traces of {} of {} ranks: the others may come later still, and transfer is an upper bound', n_ranks, world_size),
        'ingest the traces of all ranks as one run'
    FROM facts
    WHERE n_ranks > 1 AND n_ranks < world_size
    UNION ALL
    SELECT
        3, 'unmatched', category, n_unmatched, of_n,
        format('{:,} of {:,} {} calls are not matched over ranks: nothing is known of their waiting', n_unmatched, of_n, category),
        'calls at the edges of the window are often cut on some rank; many more mean that a trace lost events'
    FROM ranks
    WHERE n_unmatched > 0 AND (SELECT n_ranks > 1 FROM facts)
    UNION ALL
    SELECT
        4, 'not_whole', category, n_not_whole, of_n,
        format('{:,} of {:,} {} calls are matched over some of their ranks only', n_not_whole, of_n, category),
        'ingest the traces of all ranks as one run'
    FROM ranks
    WHERE n_not_whole > 0
    UNION ALL
    SELECT
        5, 'several_hosts', NULL, any_value(n_hosts), any_value(n_clocks),
        format('ranks on {} hosts: their clocks were set so that their collectives end together', any_value(n_hosts)),
        'trust waiting by durations, which needs no clocks'
    FROM clocks
    HAVING any_value(n_hosts) > 1
    UNION ALL
    SELECT
        6, 'early_end', NULL, sum(n_early_after), sum(n_matched),
        format('{:,} of {:,} calls end before another rank has begun{}: {}{}',
            sum(n_early_after)::BIGINT, sum(n_matched)::BIGINT, if(bool_or(is_applied), ', even on corrected clocks', ''),
            string_agg(format('{} ({:,})', place, n_early_after), ', ' ORDER BY place_in_text)
                FILTER (WHERE is_early AND place_in_text <= 8),
            coalesce(format(' and {} more', nullif(count(*) FILTER (WHERE is_early AND place_in_text > 8), 0)), '')),
        'a clock jumps or calls are matched wrongly: trust waiting by durations'
    FROM early
    HAVING count(*) FILTER (WHERE is_early) > 0
    UNION ALL
    SELECT
        7, 'no_clock', category, n_without_wait, n_matched,
        format('{:,} of {:,} matched {} calls are of ranks whose clocks cannot be compared: {}',
            n_without_wait, n_matched, category, 'who comes last is told by durations'),
        NULL
    FROM ranks
    WHERE n_without_wait > 0
    UNION ALL
    SELECT
        7, 'clock', NULL, count(*) FILTER (WHERE is_applied), count(*),
        format('the clocks of {} of {} ranks were corrected, by up to {:.1f} us{}, so that their collectives end together',
            count(*) FILTER (WHERE is_applied), count(*), (SELECT max_ns FROM corrections) / 1e3,
            coalesce(format(' and for a drift of up to {:.1f} ppm', nullif(max(abs(drift_ppm)) FILTER (WHERE is_applied), 0)), '')),
        NULL
    FROM clocks
    WHERE n_hosts = 1
    HAVING count(*) FILTER (WHERE is_applied) > 0 AND (SELECT max_ns FROM corrections) IS NOT NULL
    UNION ALL
    SELECT
        8, 'ledger', reason, count(*), NULL,
        format('{} in {} file{}: {}', any_value(reason), count(*), if(count(*) = 1, '', 's'), min(example)),
        NULL
    FROM ingest_ledger
    WHERE run = $run AND regexp_matches(reason, 'collective|communicator|NCCL')
        AND NOT contains(reason, 'clocks cannot be compared')   -- told by no_clock
    GROUP BY reason
    UNION ALL
    SELECT
        9, 'no_step', category, n_without_step, of_n,
        format('{:,} of {:,} {} calls are in no step, and in no figure of one', n_without_step, of_n, category),
        NULL
    FROM ranks
    WHERE n_without_step > 0
    UNION ALL
    SELECT
        10, 'unknown_type', category, of_n, of_n,
        format('{:,} calls of kernels whose name does not tell which collective it is', of_n),
        'record NCCL''s log: tracekit capture --nccl-log'
    FROM ranks
    WHERE category = 'collective_other'
    UNION ALL
    SELECT
        11, 'no_bytes', category, n_without_bytes, of_n,
        format('the message size of {:,} of {:,} {} calls is not known: no bandwidth', n_without_bytes, of_n, category),
        'record shapes or NCCL''s log (tracekit capture --shapes, --nccl-log), or put config.json of the model beside the traces'
    FROM ranks
    WHERE n_without_bytes > 0
    UNION ALL
    SELECT
        12, 'model_bytes', category, n_by_model, of_n,
        format('the message size of {:,} of {:,} {} calls is computed: tokens of the step x hidden size', n_by_model, of_n, category),
        NULL
    FROM ranks
    WHERE n_by_model > 0
    UNION ALL
    SELECT
        13, 'below_model', category, n, of_n,
        format('{:,} of {:,} {} calls ({}{}{}) transfer faster, by up to {:.0f} %, than {} allows: message size or model is wrong',
            n, of_n, category, coalesce(kinds || 'steps, ', ''), format_bytes(min_bytes),
            if(min_bytes < max_bytes, ' to ' || format_bytes(max_bytes), ''), 100 * most,
            if(is_logged, 'NCCL''s own model', 'a model of NCCL''s constants and of the links in its log')),
        'compare with a measured curve: tracekit bench allreduce'
    FROM below
    INNER JOIN ranks USING (category)
    UNION ALL
    SELECT
        14, 'fused', category, n_fused, of_n,
        format('{:,} of {:,} {} calls do other work in the same kernel: their bandwidth is a lower bound', n_fused, of_n, category),
        NULL
    FROM ranks
    WHERE n_fused > 0
)

SELECT issue, place, n::BIGINT AS n, of_n::BIGINT AS of_n, text, advice
FROM issues
ORDER BY place_in_order, issues.n DESC, place
