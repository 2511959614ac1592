-- Slices in which all is as it should be: any other type fails the whole query.
-- DECIMAL(38, 3) is exact for every form of ts; VARCHAR, DOUBLE and BIGINT round silently.
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
        ts: 'DECIMAL(38, 3)',
        dur: 'DECIMAL(38, 3)',
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
            "Collective name" VARCHAR
        )'
    }
)
