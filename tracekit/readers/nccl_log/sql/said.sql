-- Messages of one slice into the stage.
-- The end of the header is `[stamp] host:pid:tid [device]`, of a warning `file:line (function)` too.
INSERT INTO nccl_said BY NAME
SELECT
    $file_id AS file_id,
    at_byte,
    list_extract(process, -3) AS host,
    list_extract(process, -2)::BIGINT AS pid,
    list_extract(process, -1)::BIGINT AS tid,
    -- A prefix such as `[0]` ends in a bracket too: nccl_logged_ns tells it by its form.
    CASE WHEN suffix(header[position - 1], ']')
        THEN split_part(array_to_string(header[:position - 1], ' '), '[', -1)
    END AS stamp,
    CASE WHEN is_warning THEN 'warning' ELSE 'info' END AS form,
    nullif(place, '') AS place,
    CASE lane WHEN 'message' THEN substr(line, strpos(line, sign) + strlen(sign)) END AS text
FROM (
    SELECT
        *,
        len(header) - prefix(header[-1], '[')::INTEGER AS position,
        string_split(header[position], ':') AS process
    FROM (
        SELECT
            *,
            CASE WHEN is_warning THEN ' NCCL WARN ' ELSE ' NCCL INFO ' END AS sign,
            split_part(line, sign, 1) AS head,
            CASE WHEN is_warning THEN regexp_extract(head, $place, 1) END AS place,
            string_split(CASE WHEN is_warning THEN regexp_replace(head, $place, '') ELSE head END, ' ') AS header
        FROM (SELECT *, contains(line, ' NCCL WARN ') AS is_warning FROM nccl_line WHERE lane IN ('message', 'other'))
    )
)
