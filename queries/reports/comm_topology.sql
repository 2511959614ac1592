-- How the GPUs of a run talk to each other, in words, from NCCL's logs.
--
-- Answers: over what do the ranks reach each other, in what order, on how many channels, and what made NCCL choose so?
-- Grain: one row per fact, in the order to read them; communicators alike in ranks and hosts count as one.
-- Params:
--   $run VARCHAR: run to read.
-- Columns:
--   topic VARCHAR: ranks, links, transport, channels, ring, search, pcie, no p2p, network, version or setting.
--   words VARCHAR: the fact, a sentence.
--   n_ranks INTEGER: ranks of the communicators it is about; NULL where it is about all.
-- Limits: P2P by itself does not tell NVLink from PCIe: where no line does, the number of channels decides, and the words say so. Ranks whose lines name no commId (NCCL 2.18.1) are put together in order: the k-th communicator of a size on each.

WITH member AS (
    SELECT
        *,
        coalesce(
            comm_id,
            concat_ws(
                ' ', n_ranks, parent IS NOT NULL, row_number() OVER (
                    PARTITION BY comm_id IS NULL, n_ranks, parent IS NOT NULL, rank
                    ORDER BY host, pid, file_id, at_byte
                )
            )
        ) AS id
    FROM nccl_comm
    WHERE run = $run
),

-- A shape is a number of ranks on a number of hosts; groups of one rank do not talk.
shape AS (
    SELECT
        n_ranks,
        n_hosts,
        count(*) AS n_comms,
        max(n_seen) AS n_seen,
        any_value(hosts ORDER BY id) AS hosts,
        max(n_channels) AS n_channels,
        max(n_p2p_channels) AS n_p2p_channels,
        max(n_nvls_channels) AS n_nvls_channels
    FROM (
        SELECT
            id,
            max(n_ranks) AS n_ranks,
            count(DISTINCT rank) AS n_seen,
            coalesce(max(n_nodes), count(DISTINCT host)) AS n_hosts,
            string_agg(DISTINCT host, ', ' ORDER BY host) AS hosts,
            max(n_channels) AS n_channels,
            max(n_p2p_channels) AS n_p2p_channels,
            max(n_nvls_channels) AS n_nvls_channels
        FROM member
        GROUP BY id
    )
    WHERE n_ranks > 1
    GROUP BY n_ranks, n_hosts
),

-- Links of a process with several communicators may be of any: then they have no shape.
link AS (
    SELECT DISTINCT
        member.n_ranks,
        nccl_link.from_rank,
        nccl_link.to_rank,
        nccl_link.transport,
        nccl_link.detail,
        CASE
            WHEN nccl_link.transport = 'P2P' AND starts_with(nccl_link.detail, 'MNNVL') THEN 'P2P over multi-node NVLink'
            WHEN nccl_link.transport = 'P2P' AND starts_with(nccl_link.detail, 'indirect') THEN 'P2P through another GPU'
            WHEN nccl_link.transport = 'P2P' THEN 'P2P'
            WHEN nccl_link.transport = 'SHM' THEN 'SHM through host memory'
            WHEN nccl_link.transport = 'NET' AND contains(nccl_link.detail, 'GDRDMA')
                THEN 'network ' || split_part(nccl_link.detail, '/', 1) || ' with GPUDirect RDMA'
            WHEN nccl_link.transport = 'NET' THEN 'network ' || split_part(nccl_link.detail, '/', 1)
            ELSE nccl_link.transport
        END AS way
    FROM nccl_link
    LEFT JOIN member
        ON member.file_id = nccl_link.file_id AND member.host = nccl_link.host AND member.pid = nccl_link.pid
        AND member.comm = nccl_link.comm
    WHERE nccl_link.run = $run
),

way AS (
    SELECT n_ranks, way, count(DISTINCT (from_rank, to_rank)) AS n_pairs
    FROM link
    GROUP BY n_ranks, way
),

sign AS (
    SELECT
        bool_or(kind = 'other' AND name = 'NVLS' AND value = 'available') AS has_nvls,
        bool_or((kind = 'node' AND name = 'NVL') OR (kind = 'pattern' AND name = '4' AND facts ->> 'type' = 'NVL'))
            AS has_nvlink,
        bool_or(kind = 'node' AND name = 'XGMI') AS has_xgmi,
        bool_or(kind = 'p2p_off' OR (kind = 'setting' AND name = 'NCCL_P2P_DISABLE' AND value = '1')) AS has_no_p2p
    FROM nccl_note
    WHERE run = $run
),

-- Source: the order of signs is that of what NCCL 2.18 to 2.32 logs without and with GRAPH.
verdict AS (
    SELECT
        n_ranks,
        CASE
            WHEN has_nvls OR n_nvls_channels > 0 THEN 'NVLink through NVSwitch (NVLS multicast is available)'
            WHEN has_nvlink THEN 'NVLink (the topology that NCCL found has it)'
            WHEN has_xgmi THEN 'xGMI (the topology that RCCL found has it)'
            WHEN n_channels >= 24 AND n_ranks <= 8 AND n_p2p > 0 THEN format('NVLink ({} channels tell)', n_channels)
            WHEN n_p2p > 0 AND n_shm > 0 THEN 'P2P between some GPUs, host memory (SHM) between others'
            WHEN n_p2p > 0 AND n_channels <= 4 THEN format('P2P over PCIe ({} channels tell)', n_channels)
            WHEN n_p2p > 0 THEN 'P2P; over NVLink or PCIe is not logged (subsystem GRAPH has it)'
            WHEN n_shm > 0 THEN 'no P2P between the GPUs of a node: all goes through host memory (SHM)'
            WHEN n_net > 0 THEN 'the network alone'
            WHEN has_no_p2p THEN 'no P2P between the GPUs of a node'
        END AS words
    FROM (
        SELECT
            shape.n_ranks,
            max(shape.n_channels) AS n_channels,
            max(shape.n_nvls_channels) AS n_nvls_channels,
            coalesce(sum(way.n_pairs) FILTER (WHERE starts_with(way.way, 'P2P')), 0) AS n_p2p,
            coalesce(sum(way.n_pairs) FILTER (WHERE starts_with(way.way, 'SHM')), 0) AS n_shm,
            coalesce(sum(way.n_pairs) FILTER (WHERE starts_with(way.way, 'network')), 0) AS n_net
        FROM shape
        LEFT JOIN way
            ON way.n_ranks = shape.n_ranks OR (way.n_ranks IS NULL AND (SELECT count(*) FROM shape) = 1)
        GROUP BY shape.n_ranks
    )
    CROSS JOIN sign
),

setting AS (
    SELECT name, value, count(DISTINCT (file_id, host, pid)) AS n_processes
    FROM nccl_note
    WHERE run = $run AND kind = 'setting' AND NOT starts_with(name, 'NCCL_DEBUG')
    GROUP BY name, value
),

fact AS (
    SELECT
        0 AS place,
        'ranks' AS topic,
        n_ranks,
        format(
            '{}{} ranks on {}{}',
            CASE WHEN n_comms > 1 THEN format('{} communicators of ', n_comms) ELSE '' END,
            n_ranks,
            CASE WHEN n_hosts = 1 THEN 'one node (' || hosts || ')' ELSE format('{} nodes ({})', n_hosts, hosts) END,
            CASE WHEN n_seen < n_ranks THEN format('; the log has {} of them', n_seen) ELSE '' END
        ) AS words,
        NULL AS rest
    FROM shape
    UNION ALL
    SELECT 1, 'links', n_ranks, words, NULL
    FROM verdict
    WHERE words IS NOT NULL
    UNION ALL
    SELECT
        2, 'transport', n_ranks,
        string_agg(format('{} ({} connection{})', way, n_pairs, if(n_pairs = 1, '', 's')), ', ' ORDER BY n_pairs DESC, way),
        NULL
    FROM way
    GROUP BY n_ranks
    UNION ALL
    SELECT
        3, 'channels', n_ranks,
        format(
            '{} for collectives, {} for point-to-point{}',
            n_channels, n_p2p_channels,
            CASE WHEN n_nvls_channels > 0 THEN format(', {} for NVLS', n_nvls_channels) ELSE '' END
        ),
        NULL
    FROM shape
    WHERE n_channels IS NOT NULL
    UNION ALL
    SELECT
        4, 'ring', len(string_split(value, ' '))::INTEGER,
        format('{}, back to {} ({} channels)', replace(value, ' ', ' -> '), split_part(value, ' ', 1), n),
        value
    FROM (
        SELECT value, count(DISTINCT name) AS n
        FROM nccl_note
        WHERE run = $run AND kind = 'ring'
        GROUP BY value
    )
    WHERE contains(value, ' ')
    UNION ALL
    SELECT DISTINCT
        5, 'search', NULL::INTEGER,
        format(
            'NCCL found {} channels of {} GB/s for its {}, over {} within a node',
            facts ->> 'n_channels', (facts ->> 'bw')::DOUBLE,
            CASE name WHEN '4' THEN 'ring' WHEN '5' THEN 'NVLS' ELSE 'tree' END,
            CASE facts ->> 'type'
                WHEN 'NVL' THEN 'NVLink' WHEN 'PIX' THEN 'one PCIe switch' WHEN 'PXB' THEN 'PCIe switches'
                WHEN 'PHB' THEN 'the CPU''s PCIe root' WHEN 'SYS' THEN 'the link between CPU sockets'
                ELSE facts ->> 'type'
            END
        ),
        name
    FROM nccl_note
    WHERE run = $run AND kind = 'pattern' AND name IN ('4', '5')
    UNION ALL
    SELECT
        6, 'pcie', NULL,
        format(
            'PCIe links of {} GB/s{}', bw,
            CASE bw WHEN 12 THEN ' (Gen3 x16)' WHEN 24 THEN ' (Gen4 x16)' WHEN 48 THEN ' (Gen5 x16)' ELSE '' END
        ),
        NULL
    FROM (
        SELECT DISTINCT (facts ->> 'bw')::DOUBLE AS bw
        FROM nccl_note
        WHERE run = $run AND kind = 'node' AND name = 'PCI'
    )
    UNION ALL
    SELECT 7, 'no p2p', NULL, any_value(value ORDER BY value) || CASE WHEN count(DISTINCT value) > 1
        THEN format(', and {} lines like it', count(DISTINCT value) - 1) ELSE '' END, NULL
    FROM nccl_note
    WHERE run = $run AND kind = 'p2p_off'
    GROUP BY split_part(value, ' ', 1)
    UNION ALL
    SELECT DISTINCT 8, 'network', NULL::INTEGER, 'between nodes: ' || value, NULL
    FROM nccl_note
    WHERE run = $run AND kind = 'other' AND name = 'Using network'
    UNION ALL
    SELECT DISTINCT
        9, 'version', NULL::INTEGER,
        CASE name WHEN 'driver'
            THEN format('CUDA {}.{} of the driver', value::INTEGER // 1000, value::INTEGER % 1000 // 10)
            ELSE upper(name) || ' ' || value
        END,
        name
    FROM nccl_note
    WHERE run = $run AND kind = 'version'
    UNION ALL
    SELECT
        10, 'setting', NULL,
        format(
            '{}={}{} ({} process{})', name, value,
            CASE
                WHEN name = 'NCCL_P2P_DISABLE' AND value = '1' THEN ': P2P is switched off by hand'
                WHEN name = 'NCCL_SHM_DISABLE' AND value = '1' THEN ': host memory is switched off by hand'
                WHEN name IN ('NCCL_ALGO', 'NCCL_PROTO') THEN ': NCCL does not choose by itself'
                WHEN name IN ('NCCL_MIN_NCHANNELS', 'NCCL_MAX_NCHANNELS', 'NCCL_MIN_CTAS', 'NCCL_MAX_CTAS')
                    THEN ': the number of channels is set by hand'
                WHEN name = 'NCCL_CUMEM_ENABLE' AND value = '0' THEN ': NVLS and symmetric memory are off with it'
                WHEN name = 'NCCL_NVLS_ENABLE' AND value = '0' THEN ': NVLS is switched off by hand'
                ELSE ''
            END,
            n_processes,
            if(n_processes = 1, '', 'es')
        ),
        name || value
    FROM setting
)

SELECT
    topic,
    CASE WHEN place IN (1, 2, 3) AND (SELECT count(*) FROM shape) > 1 AND n_ranks IS NOT NULL
        THEN format('{} ranks: {}', n_ranks, words)
        ELSE words
    END AS words,
    n_ranks
FROM fact
ORDER BY place, n_ranks DESC NULLS LAST, rest, words
