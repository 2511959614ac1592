-- Table macro: which of a table's spans is the innermost open one, as segments in time.
--
-- Input: a table with file_id, thread, start_ns, end_ns and value. Output: file_id, thread, from_ns,
-- value; a segment lasts to the next one of its thread, value NULL where no span is open.
-- Depth is a running count of open spans; after an end the innermost is the last one opened at the
-- depth that is left, which holds for spans that nest (record_function scopes do).
--
-- Makes: innermost.

CREATE TEMP MACRO innermost(spans) AS TABLE (
    WITH span AS (
        FROM query_table(spans)
        WHERE end_ns > start_ns
    ),
    edge AS (
        SELECT file_id, thread, start_ns AS at_ns, 1 AS delta, end_ns - start_ns AS dur_ns, value FROM span
        UNION ALL
        SELECT file_id, thread, end_ns, -1, end_ns - start_ns, NULL FROM span
    ),
    deep AS (
        SELECT
            *,
            -- At one moment ends come first, short before long; then starts, long before short.
            row_number() OVER ordered AS place,
            sum(delta) OVER (ordered ROWS UNBOUNDED PRECEDING) AS depth
        FROM edge
        WINDOW ordered AS (
            PARTITION BY file_id, thread ORDER BY at_ns, delta, -delta * dur_ns
        )
    ),
    opened AS (
        SELECT file_id, thread, depth, place, value
        FROM deep
        WHERE delta = 1
    )
    SELECT deep.file_id, deep.thread, deep.at_ns AS from_ns, opened.value
    FROM deep
    ASOF LEFT JOIN opened
        ON deep.file_id = opened.file_id AND deep.thread = opened.thread
        AND deep.depth = opened.depth AND deep.place >= opened.place
    -- Of edges at one moment only the last one leaves a segment.
    QUALIFY row_number() OVER (
        PARTITION BY deep.file_id, deep.thread, deep.at_ns ORDER BY deep.place DESC
    ) = 1
);
