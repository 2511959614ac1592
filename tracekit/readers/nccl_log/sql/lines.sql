-- Lines of one slice of a log: where each begins, and in what lane it goes on. Lanes are `call` and `message`,
-- both whole from end to end, and `other`: whole too, but of no known form. NULL are left for the slow lane.
-- A window in order of arrival: the lines come from one list.
CREATE OR REPLACE TEMP TABLE nccl_line AS
SELECT
    at_byte,
    line,
    CASE
        WHEN regexp_full_match(line, $call) THEN 'call'
        WHEN NOT contains(line, ' NCCL ') OR strlen(line) > $most THEN NULL
        WHEN NOT regexp_full_match(line, $headed) OR regexp_matches(line, $unclear) THEN NULL
        WHEN regexp_full_match(line, $message) THEN 'message'
        WHEN NOT regexp_matches(line, $slow) THEN 'other'
    END AS lane
FROM (
    SELECT
        line,
        (
            sum(strlen(line) + 1) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - strlen(line) - 1
        )::BIGINT + $start AS at_byte
    FROM (SELECT unnest(string_split($text, chr(10))) AS line)
)
