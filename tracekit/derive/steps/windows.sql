-- Device windows of the host steps, and how each window's time was spent.
--
-- A window runs from the step's anchor, its first kernel on its main stream, to the next step's; on
-- CPU it is the host step. busy counts every activity of the file that falls into the window.
--
-- Makes: step_work, step_window.

CREATE TEMP TABLE step_work AS
WITH by_stream AS (
    SELECT
        file_id, k, device, stream, min(start_ns) AS start_ns, sum(end_ns - start_ns) AS sum_ns
    FROM attributed
    WHERE is_kernel AND k IS NOT NULL
    GROUP BY ALL
),
main AS (
    SELECT file_id, k, arg_max(stream, sum_ns) AS main_stream, arg_max(start_ns, sum_ns) AS anchor_ns
    FROM by_stream
    GROUP BY ALL
),
spanned AS (
    SELECT file_id, k, min(start_ns) AS first_ns, max(end_ns) AS last_ns
    FROM attributed
    WHERE k IS NOT NULL
    GROUP BY ALL
)
SELECT *
FROM spanned
LEFT JOIN main USING (file_id, k);

-- An empty step has no window. Where the host ran one before the next window, the time from the last
-- activity of this step to the first of the next is waiting for work, as far as nothing runs in it.
CREATE TEMP TABLE step_window AS
WITH emptied AS (
    SELECT
        *,
        n_prefill_reqs = 0 AND n_decode_reqs = 0 AS is_empty,
        count(*) FILTER (n_prefill_reqs = 0 AND n_decode_reqs = 0) OVER (
            PARTITION BY file_id ORDER BY k
        ) AS empty_so_far
    FROM host_step
)
SELECT
    file_id, k, main_stream, first_ns, last_ns,
    CASE WHEN backend = 'cpu' THEN begin_ns ELSE anchor_ns END AS start_ns,
    CASE WHEN backend = 'cpu' THEN end_ns ELSE coalesce(
        lead(anchor_ns) OVER (PARTITION BY file_id ORDER BY anchor_ns), last_ns
    ) END AS stop_ns,
    CASE WHEN lead(empty_so_far) OVER by_step > empty_so_far THEN last_ns END AS wait_from_ns,
    lead(first_ns) OVER by_step AS wait_until_ns
FROM emptied
JOIN step_work USING (file_id, k)
CROSS JOIN backend
WHERE (backend = 'cpu' OR anchor_ns IS NOT NULL) AND is_empty IS NOT TRUE
WINDOW by_step AS (PARTITION BY file_id ORDER BY k);
