-- Slices in which all is as it should be: any other type fails the whole query.
-- Of the members that tell of collectives all, or two that show whether there are any.
-- Times are DECIMAL(38, 3), exact for every form of ts, or DOUBLE where a macro of event.sql says it is.
SELECT *
FROM read_json(
    $slices,
    format = 'array',
    records = true,             -- else every slice is read three times
    auto_detect = false,
    compression = 'none',
    maximum_object_size = 16777216,
    columns = {
        ph: 'VARCHAR',
        cat: 'VARCHAR',
        name: 'VARCHAR',
        tid: 'VARCHAR',
        ts: '{ts}',
        dur: '{dur}',
        args: 'STRUCT(
            correlation BIGINT,
            "External id" BIGINT,
            device INTEGER,
            stream BIGINT,
            grid VARCHAR,
            block VARCHAR,
            bytes BIGINT,
            "graph id" BIGINT,
            "graph node id" BIGINT,
            "Collective name" VARCHAR,
            "Input Dims" VARCHAR{of_collectives}
        )'
    }
)
