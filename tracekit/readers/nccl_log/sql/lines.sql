-- Lines of one slice of a log: where each begins, and whether it is a call from end to end.
-- A window in order of arrival: the lines come from one list.
CREATE OR REPLACE TEMP TABLE nccl_line AS
SELECT at_byte, line, regexp_full_match(line, $whole) AS is_call
FROM (
    SELECT
        line,
        (
            sum(strlen(line) + 1) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - strlen(line) - 1
        )::BIGINT + $start AS at_byte
    FROM (SELECT unnest(string_split($text, chr(10))) AS line)
)
