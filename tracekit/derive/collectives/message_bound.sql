-- How NCCL sends messages of a size, and how fast its own model says that can be.
--
-- choice: algorithm, protocol and channels that its log has for the size and the channels of the kernel.
-- bound: the time of the model, from the table in the log, else from NCCL's constants where the log tells
-- the links of one node: for the choice, else the best there is. Without the bandwidth of the links it is
-- little more than the latency. Source: NCCL 2.23 to 2.30, src/graph/tuning.cc.
--
-- Makes: sent, choice, nccl_speed, bound.

CREATE TEMP TABLE sent AS
SELECT DISTINCT sent_id, category, bytes, channels, n_ranks
FROM sized
WHERE sent_id IS NOT NULL;

-- Where ranks gather or scatter, the log has the bytes of all; since 2.24, which tells channels, of one.
CREATE TEMP TABLE choice AS
SELECT
    sent_id,
    CASE WHEN min(algorithm) = max(algorithm) THEN any_value(algorithm) END AS algorithm,
    CASE WHEN min(protocol) = max(protocol) THEN any_value(protocol) END AS protocol,
    CASE WHEN min(n_channels) = max(n_channels) THEN any_value(n_channels) END AS n_channels,
    min(model_ns) AS logged_ns
FROM sent
JOIN (FROM nccl_tuning ANTI JOIN stranger USING (file_id, host, pid)) AS tuning
    ON coalesce(tuning.category = sent.category, true)
    AND tuning.bytes = CASE
        WHEN sent.category IN ('all_gather', 'reduce_scatter') AND tuning.n_channels IS NOT NULL
            THEN sent.bytes // n_ranks
        ELSE sent.bytes
    END
    AND coalesce(tuning.n_channels = sent.channels, true)
WHERE algorithm IS NOT NULL AND protocol IS NOT NULL
GROUP BY sent_id;

-- A table, and a pattern of the topology, are of the communicator that its process set up last.
CREATE TEMP TABLE nccl_speed AS
WITH logged_model AS (
    SELECT
        n_ranks, model.category, algorithm, protocol,
        min(latency_ns) AS latency_ns, max(algbw_gb_per_s) AS algbw
    FROM (FROM nccl_model ANTI JOIN stranger USING (file_id, host, pid)) AS model
    ASOF JOIN nccl_comm AS comm
        ON (comm.file_id, comm.host, comm.pid) = (model.file_id, model.host, model.pid)
        AND model.at_byte >= comm.at_byte
    WHERE algbw_gb_per_s > 0
    GROUP BY ALL
),
pattern AS (
    SELECT
        file_id, host, pid, at_byte, facts ->> '$.type' AS type,
        TRY_CAST(facts ->> '$.n_channels' AS INTEGER) AS n_channels,
        TRY_CAST(facts ->> '$.bw' AS DOUBLE) AS bw
    FROM nccl_note
    WHERE kind = 'pattern' AND name = '4'
),
ring AS (
    SELECT
        n_ranks, max(pattern.n_channels) AS n_channels, max(pattern.n_channels * bw) AS bw,
        bool_or(type = 'NVL') AS has_nvlink, bool_and(type IN ('PIX', 'PXB', 'PHB', 'SYS')) AS has_pcie
    FROM (FROM pattern ANTI JOIN stranger USING (file_id, host, pid)) AS pattern
    ASOF JOIN nccl_comm AS comm
        ON (comm.file_id, comm.host, comm.pid) = (pattern.file_id, pattern.host, pattern.pid)
        AND pattern.at_byte >= comm.at_byte
    GROUP BY n_ranks
),
machine AS (
    SELECT
        n_ranks, any_value(ring.n_channels) AS n_channels, any_value(bw) AS bw,
        bool_or(n_nvls_channels > 0) AS has_nvls,
        coalesce(any_value(has_nvlink), bool_or(n_nvls_channels > 0)) AS has_nvlink,
        coalesce(
            any_value(has_pcie), (SELECT count(*) > 0 FROM nccl_link WHERE transport = 'SHM')
        ) AS has_pcie,
        (
            SELECT max(TRY_CAST(metadata ->> '$.deviceProperties[0].computeMajor' AS INTEGER))
            FROM file
            WHERE kind = 'trace'
        ) AS compute_major
    FROM nccl_comm
    ANTI JOIN stranger USING (file_id, host, pid)
    LEFT JOIN ring USING (n_ranks)
    GROUP BY n_ranks
    HAVING max(n_nodes) = 1 AND n_ranks > 1
),
constant AS (
    SELECT
        n_ranks, 'all_reduce' AS category, algorithm, protocol,
        base_ns
        + 2 * (n_ranks - 1) * CASE WHEN has_nvlink THEN nvlink_hop_ns ELSE pcie_hop_ns END AS latency_ns,
        nccl_busbw(algorithm, protocol, bw, n_channels, compute_major)
        * CASE algorithm WHEN 'RING' THEN n_ranks / (2 * (n_ranks - 1)) ELSE 0.5 END AS algbw
    FROM machine
    CROSS JOIN nccl_latencies()
    WHERE (has_nvlink OR has_pcie) AND (algorithm != 'NVLS' OR has_nvls)
)
FROM logged_model
UNION ALL BY NAME
FROM constant
WHERE (n_ranks, category) NOT IN (SELECT (n_ranks, category) FROM logged_model);

CREATE TEMP TABLE bound AS
WITH modelled AS (
    SELECT
        sent_id, choice.algorithm IS NULL AS is_free,
        (nccl_speed.algorithm, nccl_speed.protocol) = (choice.algorithm, choice.protocol) AS is_chosen,
        latency_ns + coalesce(bytes / algbw, 0) AS model_ns
    FROM sent
    JOIN nccl_speed USING (category, n_ranks)
    LEFT JOIN choice USING (sent_id)
)
SELECT sent_id, min(model_ns)::BIGINT AS model_ns
FROM modelled
WHERE is_free OR is_chosen
GROUP BY sent_id;
