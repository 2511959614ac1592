-- Events given one by one as JSON text.
SELECT event.* EXCLUDE (args), args_as_text(event.args) AS args
FROM (
    SELECT json_transform(
        unnest($texts::VARCHAR[]),
        '{
            "ph": "VARCHAR",
            "cat": "VARCHAR",
            "name": "VARCHAR",
            "tid": "VARCHAR",
            "ts": "DECIMAL(38, 3)",
            "dur": "DECIMAL(38, 3)",
            "args": "JSON"
        }'
    ) AS event
)
