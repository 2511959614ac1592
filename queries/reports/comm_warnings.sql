-- What NCCL warned of in a run's logs, and what it means.
--
-- Answers: did NCCL, RCCL or torch's watchdog complain, what of, and what is to be done?
-- Grain: one row per kind of warning and place in NCCL's source, the most telling first.
-- Params:
--   $run VARCHAR: run to read.
-- Columns:
--   n BIGINT: times it was logged, over all processes.
--   place VARCHAR: file and line in NCCL, or watchdog (torch); NULL where the line names none.
--   example VARCHAR: its text, of the earliest.
--   meaning VARCHAR: what it says, in words; NULL for warnings that nobody has explained here.
--   advice VARCHAR: what to do; NULL likewise.
--   host VARCHAR: host of the earliest; NULL where the line names none.
--   n_processes BIGINT: processes that logged it.
--   first_ns BIGINT: time of the earliest, ns since the epoch; NULL where it has none.
-- Limits: numbers and addresses are left out when warnings are taken together.

-- Source: src/init.cc, src/transport/*.cc and src/misc/*.cc of NCCL 2.18 to 2.32; RCCL's init.cc; torch's ProcessGroupNCCL.
WITH explained AS (
    SELECT *
    FROM (
        VALUES
            (1, 'Watchdog caught collective operation timeout', 'a collective did not end in time: some rank never came to it, or had died',
                'look for the rank that logged an error first; compare the last completed work of all ranks'),
            (2, 'last enqueued NCCL work', 'how far the rank''s collectives had come when another hung',
                'the rank with the lowest number is the one the others wait for'),
            (3, 'Cuda failure 1 ', 'a CUDA call was refused; at NVLS with CUMEM off this is not fatal',
                'nothing where the run went on; else look at what CUDA call it was'),
            (4, 'Cuda failure', 'a CUDA call failed: errors of kernels launched before surface here',
                'run with CUDA_LAUNCH_BLOCKING=1, or compute-sanitizer, to find the kernel'),
            (5, 'Call to recv from|socketProgress: Connection closed|Connection closed by remote peer',
                'a peer went away: another rank died first', 'look at the log of the rank that ended first'),
            (6, 'error 12|Got completion .* with error 12', 'the network gave up after its retries: a cable, a port or a switch',
                'check the link counters of the adapter; NCCL_IB_TIMEOUT and NCCL_IB_RETRY_CNT only hide it'),
            (7, 'Got completion .* with error 5', 'the connection was flushed: another error came before', 'look for the first error'),
            (8, 'Got completion .* with error 4', 'the adapter refused access to memory', 'check GPUDirect RDMA (nvidia-peermem) and IOMMU'),
            (9, 'ibv_modify_qp failed', 'an InfiniBand or RoCE connection could not be made: often the wrong GID or port',
                'set NCCL_IB_GID_INDEX or NCCL_IB_HCA to the port in use'),
            (10, 'creating shared memory segment', 'too little shared memory: containers have 64 MB by default',
                'raise --shm-size, or run with --ipc=host'),
            (11, 'Could not find a path for pattern 4', 'no ring could be built over these GPUs', 'check lspci -t, MIG and the devices the container sees'),
            (12, 'Duplicate GPU detected', 'two ranks use one GPU', 'give each rank a device of its own'),
            (13, 'Mismatched NCCL version', 'ranks run different versions of NCCL', 'use the same image on all hosts'),
            (14, 'cuMem host allocations do not appear to be working', 'host memory of the new kind cannot be had: NCCL falls back',
                'check numactl, --cap-add SYS_NICE and the container''s NUMA policy; NCCL_CUMEM_HOST_ENABLE=0 silences it'),
            (15, 'iommu=pt', 'the IOMMU translates every transfer: P2P is slow or hangs', 'boot with iommu=pt'),
            (16, 'NUMA auto balancing', 'the kernel moves pages between sockets, which slows transfers',
                'echo 0 > /proc/sys/kernel/numa_balancing')
    ) AS listed (place_in_order, pattern, meaning, advice)
),

warning AS (
    SELECT
        nccl_note.name,
        nccl_note.value,
        nccl_note.host,
        nccl_note.logged_ns,
        nccl_note.file_id,
        nccl_note.at_byte,
        coalesce(nccl_note.host, '') || ' ' || coalesce(nccl_note.pid::VARCHAR, '') AS process,
        min(explained.place_in_order) AS place_in_order
    FROM nccl_note
    LEFT JOIN explained ON regexp_matches(nccl_note.value, explained.pattern)
    WHERE nccl_note.run = $run AND nccl_note.kind = 'warning'
    GROUP BY ALL
)

SELECT
    count(*) AS n,
    warning.name AS place,
    arg_min(warning.value, (warning.logged_ns, warning.file_id, warning.at_byte)) AS example,
    any_value(explained.meaning) AS meaning,
    any_value(explained.advice) AS advice,
    arg_min(warning.host, (warning.logged_ns, warning.file_id, warning.at_byte)) AS host,
    count(DISTINCT warning.process) AS n_processes,
    min(warning.logged_ns) AS first_ns
FROM warning
LEFT JOIN explained ON explained.place_in_order = warning.place_in_order
GROUP BY
    warning.name, warning.place_in_order,
    CASE WHEN warning.place_in_order IS NULL THEN regexp_replace(warning.value, '0x[0-9a-f]+|\d+', '#', 'g') END
ORDER BY warning.place_in_order NULLS LAST, n DESC, place, example
