-- Members of args that are there but are no numbers; the events are kept without them.
WITH
raw AS ({source}),
faulty AS (
    SELECT list_filter(
        [
            ('correlation', args.correlation),
            ('External id', args."External id"),
            ('device', args.device),
            ('stream', args.stream),
            ('bytes', args.bytes),
            ('graph id', args."graph id"),
            ('graph node id', args."graph node id"),
            ('In msg nelems', args."In msg nelems"),
            ('Out msg nelems', args."Out msg nelems"),
            ('Group size', args."Group size"),
            ('Seq', args.Seq)
        ],
        lambda member: member[2] IS NOT NULL AND TRY_CAST(member[2] AS BIGINT) IS NULL
    ) AS members
    FROM raw
    INNER JOIN category USING (cat)
    WHERE ph = 'X' AND category.kind IS NOT NULL
)
SELECT count(*), any_value(members[1][1] || ' ' || members[1][2])
FROM faulty
WHERE len(members) > 0
