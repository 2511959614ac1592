-- What a benchmark measured: time and bandwidth of each message size.
--
-- Answers: how long does a collective of this size take on this machine, at best?
-- Grain: one row per mode, collective, element type, size and delay, by them.
-- Params:
--   $run VARCHAR: run.
-- Columns:
--   mode VARCHAR: eager, graph (CUDA graph), or burst (a recorded step's sequence).
--   category VARCHAR: all_reduce, ...
--   n_ranks INTEGER: ranks that took part; NULL where unknown.
--   dtype VARCHAR: element type.
--   bytes BIGINT: size of the message.
--   n INTEGER: calls measured; NULL where unknown.
--   time_ns BIGINT: time of a call, of the rank that takes longest: median over calls, or the mean.
--   p95_ns BIGINT: 95th percentile of it; NULL where unknown.
--   algbw_gb_per_s DOUBLE: bytes by time_ns; with a delay it holds that too.
--   busbw_gb_per_s DOUBLE: what each link carries in that time; NULL where the number of ranks is unknown.
--   delayed_rank INTEGER: rank that was delayed on purpose; NULL without.
--   delay_ns BIGINT: by how much, before each call; NULL without.
-- Limits: none.

SELECT
    mode,
    category,
    n_ranks,
    dtype,
    bytes,
    n,
    time_ns,
    p95_ns,
    algbw_gb_per_s,
    busbw_gb_per_s,
    delayed_rank,
    delay_ns
FROM calibrations
WHERE run = $run
ORDER BY mode = 'burst', mode, category, dtype, bytes, delay_ns NULLS FIRST
