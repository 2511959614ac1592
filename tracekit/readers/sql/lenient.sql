-- Slices that are JSON: what has another type becomes NULL, members of args stay text.
SELECT * EXCLUDE (args), args_as_text(args) AS args
FROM read_json(
    $slices,
    format = 'array',
    records = true,
    auto_detect = false,
    compression = 'none',
    ignore_errors = true,
    maximum_object_size = 16777216,
    columns = {
        ph: 'VARCHAR',
        cat: 'VARCHAR',
        name: 'VARCHAR',
        tid: 'VARCHAR',
        ts: 'DECIMAL(38, 3)',
        dur: 'DECIMAL(38, 3)',
        args: 'JSON'
    }
)
