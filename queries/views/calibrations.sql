-- Measured sizes of collectives: how fast this machine can be, without a server around it.
--
-- Answers: how long does a message of this size take at best, and at which bandwidth?
-- Grain: one row per measured size of a run: collective, mode, in or out of place, delayed or not.
-- Columns:
--   run VARCHAR: run.
--   tool VARCHAR: nccl-tests or tracekit.
--   mode VARCHAR: eager, graph (CUDA graph) or burst (the sequence of a recorded step).
--   category VARCHAR: all_reduce, ...; and reduce, gather, scatter, which kernels do not tell apart.
--   backend VARCHAR: nccl, gloo, ...; NULL where unknown.
--   n_ranks INTEGER: ranks that took part; NULL where unknown.
--   gpu VARCHAR: device of the lowest rank; NULL on CPU or where unknown.
--   dtype VARCHAR: element type as the tool names it.
--   bytes BIGINT: size of the message; of gathering and scattering collectives the whole over all ranks.
--   is_in_place BOOLEAN: true where the result overwrites the input.
--   n INTEGER: calls measured; NULL where unknown.
--   time_ns BIGINT: time of a call: median, or the mean where the tool gives no more.
--   p95_ns BIGINT: 95th percentile; NULL where unknown.
--   algbw_gb_per_s DOUBLE: algorithm bandwidth: bytes / time, GB = 1e9.
--   busbw_gb_per_s DOUBLE: bus bandwidth: algbw x 2(n-1)/n of an all-reduce, (n-1)/n where ranks gather or scatter, else 1;
--     NULL where n_ranks is unknown.
--   delayed_rank INTEGER: rank that was delayed on purpose; NULL without.
--   delay_ns BIGINT: by how much, before each call; NULL without.
--   file_id INTEGER: file within the run.
-- Limits: where a switch reduces (NVLS), bus bandwidth can exceed what the links carry.

SELECT
    run,
    tool,
    mode,
    category,
    backend,
    n_ranks,
    gpu,
    dtype,
    bytes,
    is_in_place,
    n,
    time_ns,
    p95_ns,
    bytes / nullif(time_ns, 0) AS algbw_gb_per_s,
    bytes / nullif(time_ns, 0) * busbw_factor(category, n_ranks) AS busbw_gb_per_s,
    delayed_rank,
    delay_ns,
    file_id
FROM calibration
