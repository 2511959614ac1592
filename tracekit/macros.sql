-- Macros of a tracekit database: what is defined once, for derive, views and users' SQL.
--
-- They are stored in the database, so that its views need no tracekit.

-- Names of element types, lower case, as torch (kernel args, shapes, config.json), NCCL and nccl-tests write
-- them, without a leading `c10::` or `torch.`.
CREATE OR REPLACE MACRO element_types() AS TABLE
SELECT *
FROM (
    VALUES
        ('bfloat16', 'BFloat16', 2), ('bf16', 'BFloat16', 2),
        ('half', 'Half', 2), ('float16', 'Half', 2), ('fp16', 'Half', 2), ('f16', 'Half', 2),
        ('float', 'Float', 4), ('float32', 'Float', 4), ('fp32', 'Float', 4), ('f32', 'Float', 4),
        ('double', 'Double', 8), ('float64', 'Double', 8), ('fp64', 'Double', 8), ('f64', 'Double', 8),
        ('char', 'Char', 1), ('int8', 'Char', 1), ('signed char', 'Char', 1),
        ('byte', 'Byte', 1), ('uint8', 'Byte', 1), ('unsigned char', 'Byte', 1),
        ('short', 'Short', 2), ('int16', 'Short', 2), ('short int', 'Short', 2),
        ('int', 'Int', 4), ('int32', 'Int', 4), ('uint32', 'UInt32', 4), ('unsigned int', 'UInt32', 4),
        ('long', 'Long', 8), ('int64', 'Long', 8), ('long int', 'Long', 8), ('uint64', 'UInt64', 8),
        ('bool', 'Bool', 1),
        ('float8_e4m3fn', 'Float8_e4m3fn', 1), ('float8e4m3', 'Float8_e4m3fn', 1),
        ('fp8_e4m3', 'Float8_e4m3fn', 1), ('f8e4m3', 'Float8_e4m3fn', 1),
        ('float8_e5m2', 'Float8_e5m2', 1), ('float8e5m2', 'Float8_e5m2', 1),
        ('fp8_e5m2', 'Float8_e5m2', 1), ('f8e5m2', 'Float8_e5m2', 1),
        ('complexfloat', 'ComplexFloat', 8), ('complexdouble', 'ComplexDouble', 16)
) AS listed (name, torch_name, bytes);

CREATE OR REPLACE MACRO bare_type(dtype) AS regexp_replace(lower(dtype), '^(c10::|torch\.)', '');
COMMENT ON MACRO bare_type IS 'Name of an element type as element_types() has it.';

-- Busbw = algbw * factor, so that it compares with the speed of the links whatever the number of ranks.
-- Source: nccl-tests, doc/PERFORMANCE.md; bytes of gathering and scattering collectives are the whole over all
-- ranks.
CREATE OR REPLACE MACRO busbw_factor(category, n_ranks) AS
CASE
    WHEN category = 'all_reduce' THEN 2.0::DOUBLE * (n_ranks - 1) / n_ranks
    WHEN category IN ('all_gather', 'reduce_scatter', 'all_to_all', 'gather', 'scatter')
        THEN 1.0::DOUBLE * (n_ranks - 1) / n_ranks
    WHEN category IN ('broadcast', 'reduce', 'send_recv') THEN 1.0::DOUBLE
END;
COMMENT ON MACRO busbw_factor IS 'Bus bandwidth / algorithm bandwidth of a collective; NULL where it has none or n_ranks is unknown.';

-- Constants of NCCL's own model of one all-reduce within one node: latency = base + 2(n-1) * hop, in ns.
-- Source: NCCL 2.23 to 2.30, src/graph/tuning.cc.
CREATE OR REPLACE MACRO nccl_latencies() AS TABLE
SELECT *
FROM (
    VALUES
        ('RING', 'LL', 6600, 600, 1000),
        ('RING', 'LL128', 14000, 1900, 2500),
        ('RING', 'SIMPLE', 8400, 3400, 5700),
        ('TREE', 'LL', 6800, 600, 1000),
        ('TREE', 'LL128', 14000, 1250, 1900),
        ('TREE', 'SIMPLE', 8400, 4000, 4000),
        ('NVLS', 'SIMPLE', 25000, 0, NULL)
) AS listed (algorithm, protocol, base_ns, nvlink_hop_ns, pcie_hop_ns);

-- Bus bandwidth of that model in GB/s, from what all channels of the ring can move together (`bw`, of pattern
-- 4), the number of channels and the GPU's compute capability; an unknown GPU gets the fastest one's limits.
-- Source: as above.
CREATE OR REPLACE MACRO nccl_busbw(algorithm, protocol, bw, n_channels, compute_major) AS
CASE algorithm || ' ' || protocol
    WHEN 'RING LL' THEN least(bw / 2, CASE compute_major WHEN 8 THEN 87.7 WHEN 9 THEN 141.0 ELSE 282.0 END)
    WHEN 'RING LL128' THEN least(
        0.92 * bw, n_channels * CASE compute_major WHEN 8 THEN 20.0 WHEN 9 THEN 36.7 END
    )
    WHEN 'RING SIMPLE' THEN bw
    WHEN 'TREE LL' THEN 0.92 * bw / 3.8
    WHEN 'TREE LL128' THEN 0.92 * bw * 7 / 9
    WHEN 'TREE SIMPLE' THEN 0.92 * bw
END;
COMMENT ON MACRO nccl_busbw IS 'Bus bandwidth in NCCL''s own model, GB/s; NULL for an algorithm that its constants do not cover.';

CREATE OR REPLACE MACRO students_t(freedom) AS
CASE
    WHEN freedom < 11
        THEN [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228][floor(freedom)::INTEGER]
    ELSE 1.96 + 2.37 / freedom + 2.82 / freedom ** 2
END;
COMMENT ON MACRO students_t IS 'Half the width of a 95 % interval in standard errors, of that many degrees of freedom.';

CREATE OR REPLACE MACRO is_most(part, whole) AS whole > 0 AND part >= 0.5 * whole;
COMMENT ON MACRO is_most IS 'Whether a part of the waiting is enough of it to be named as the reason.';

-- Over collective calls: the part of what ranks wait that is for a `host` or a `device` that was late.
CREATE OR REPLACE MACRO delay_share(which, delay, others_wait_ns, late_starved_ns) AS
CASE
    WHEN count(late_starved_ns) > 0
        THEN coalesce(sum(others_wait_ns) FILTER (WHERE delay = which), 0) / nullif(sum(others_wait_ns), 0)
END;
COMMENT ON MACRO delay_share IS 'Part of others_wait_ns in calls with that delay; NULL where no call tells why it was late.';
