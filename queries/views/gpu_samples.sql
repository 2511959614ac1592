-- Clocks, power, temperature and throttle reasons of each GPU while the load ran.
--
-- Answers: was a GPU throttled, and is it the one the others wait for?
-- Grain: one row per (run, gpu, second) of each window.
-- Columns:
--   run VARCHAR: run.
--   window_name VARCHAR: window in which it was taken; NULL where nothing tells.
--   gpu INTEGER: index as nvidia-smi counts, not the rank.
--   start_ns BIGINT: moment of the sample, ns since the epoch; NULL where unknown.
--   sm_clock_mhz DOUBLE: clock of the multiprocessors, MHz; NULL where not supported, as in all columns that follow.
--   memory_clock_mhz DOUBLE: clock of the memory, MHz.
--   power_w DOUBLE: power draw, W.
--   power_limit_w DOUBLE: power limit, W.
--   temperature_c DOUBLE: temperature of the GPU, degrees Celsius.
--   memory_temperature_c DOUBLE: temperature of the memory, degrees Celsius.
--   utilization_ratio DOUBLE: share of the last second in which some kernel ran.
--   memory_used_bytes BIGINT: memory in use, bytes.
--   pcie_generation INTEGER: generation at which the PCIe link runs; it slows down while its GPU idles.
--   pcie_width INTEGER: lanes of the link in use.
--   throttle_reasons VARCHAR: what held the clocks down, separated by commas; empty where nothing did.
--   is_throttled BOOLEAN: true where power, heat or hardware held them down, not merely idleness or a setting.
--   throttle_mask BIGINT: the reasons as NVML's bits.
--   name VARCHAR: name of the GPU.
-- Limits: one sample a second says nothing of what lies between two.

SELECT
    run,
    window_name,
    gpu,
    start_ns,
    sm_clock_mhz,
    memory_clock_mhz,
    power_w,
    power_limit_w,
    temperature_c,
    memory_temperature_c,
    utilization_ratio,
    memory_used_bytes,
    pcie_generation,
    pcie_width,
    CASE
        WHEN throttle_mask IS NOT NULL THEN concat_ws(
            ', ',
            CASE WHEN throttle_mask & 1 > 0 THEN 'gpu_idle' END,
            CASE WHEN throttle_mask & 2 > 0 THEN 'applications_clocks_setting' END,
            CASE WHEN throttle_mask & 4 > 0 THEN 'sw_power_cap' END,
            CASE WHEN throttle_mask & 8 > 0 THEN 'hw_slowdown' END,
            CASE WHEN throttle_mask & 16 > 0 THEN 'sync_boost' END,
            CASE WHEN throttle_mask & 32 > 0 THEN 'sw_thermal_slowdown' END,
            CASE WHEN throttle_mask & 64 > 0 THEN 'hw_thermal_slowdown' END,
            CASE WHEN throttle_mask & 128 > 0 THEN 'hw_power_brake_slowdown' END,
            CASE WHEN throttle_mask & 256 > 0 THEN 'display_clock_setting' END,
            CASE WHEN throttle_mask >= 512 THEN 'reason unknown' END
        )
    END AS throttle_reasons,
    throttle_mask & (4 + 8 + 32 + 64 + 128) > 0 AS is_throttled,
    throttle_mask,
    name
FROM gpu_sample
