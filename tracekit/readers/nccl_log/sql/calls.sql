-- Calls of one slice into the stage: by words, since a regular expression with groups takes five times as long.
-- The end of the header is `[stamp] host:pid:tid [device]`.
INSERT INTO nccl_stage BY NAME
SELECT
    $file_id AS file_id,
    at_byte,
    'coll' AS source,
    stamp,
    list_extract(process, -3) AS host,
    list_extract(process, -2)::BIGINT AS pid,
    list_extract(process, -1)::BIGINT AS tid,
    said[17] AS comm,
    said[24]::INTEGER AS global_rank,
    substr(said[18], 9, strlen(said[18]) - 9)::INTEGER AS n_ranks,
    rtrim(said[1], ':') AS collective,
    ('0x' || said[3])::BIGINT AS op_count,
    said[9]::BIGINT AS n_elements,
    said[11]::INTEGER AS dtype_code,
    said[13]::INTEGER AS reduction_code,
    said[15]::INTEGER AS root,
    said[5] = said[7] AS is_in_place,
    said[20] AS stream
FROM (
    SELECT
        at_byte,
        said,
        string_split(header[position], ':') AS process,
        -- A prefix such as `[0]` ends in a bracket too: nccl_logged_ns tells it by its form.
        CASE WHEN suffix(header[position - 1], ']')
            THEN split_part(array_to_string(header[:position - 1], ' '), '[', -1)
        END AS stamp
    FROM (
        SELECT
            at_byte,
            string_split(split_part(line, ' NCCL INFO ', -1), ' ') AS said,
            string_split(split_part(line, ' NCCL INFO ', -2), ' ') AS header,
            len(header) - prefix(header[-1], '[')::INTEGER AS position
        FROM nccl_line
        WHERE lane = 'call'
    )
)
