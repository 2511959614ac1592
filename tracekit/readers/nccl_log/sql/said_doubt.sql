-- Messages of one file that may end in the tail of another process's line: some process began one alike nearby.
-- Of a head cut early (fewer than four characters) anything may be the tail.
UPDATE nccl_said
SET is_doubtful = true
FROM (
    WITH head AS (
        SELECT
            *,
            -- The latest head of another process: where one is the process's own, that counts.
            last_value(CASE WHEN (host, pid) != (last_host, last_pid) THEN last_at END IGNORE NULLS) OVER in_order
                AS other_at
        FROM (
            SELECT
                *,
                lag(host) OVER in_order AS last_host,
                lag(pid) OVER in_order AS last_pid,
                lag(at_byte) OVER in_order AS last_at
            FROM nccl_head
            WHERE file_id = $file_id
            WINDOW in_order AS (PARTITION BY beginning ORDER BY place)
        )
        WINDOW in_order AS (PARTITION BY beginning ORDER BY place)
        QUALIFY row_number() OVER (PARTITION BY beginning, at_byte ORDER BY place DESC) = 1
    ),

    said AS (
        SELECT at_byte, host, pid, left(text, length) AS beginning
        FROM nccl_said
        CROSS JOIN (SELECT DISTINCT strlen(beginning) AS length FROM head)
        WHERE file_id = $file_id AND text IS NOT NULL AND is_doubtful IS NULL
    )

    SELECT DISTINCT said.at_byte
    FROM said
    ASOF JOIN head ON head.beginning = said.beginning AND head.at_byte < said.at_byte
    WHERE said.at_byte - CASE WHEN (head.host, head.pid) = (said.host, said.pid) THEN other_at ELSE head.at_byte END
        < $window
) AS doubt
WHERE nccl_said.file_id = $file_id AND nccl_said.at_byte = doubt.at_byte AND nccl_said.is_doubtful IS NULL
