-- Counts of one file that no message and no group has become NULL, and a warning of the ledger. With
-- what remains, elements times bytes times ranks fits into BIGINT.
CREATE OR REPLACE TEMP TABLE absurd AS
SELECT
    rowid AS arg_id,
    concat_ws(
        ', ', left(name, 200), 'In msg nelems ' || told.n_in, 'Out msg nelems ' || told.n_out,
        'Group size ' || told.group_size
    ) AS example,
    CASE WHEN told.n_in BETWEEN 0 AND 1099511627776 THEN told.n_in END AS n_in,
    CASE WHEN told.n_out BETWEEN 0 AND 1099511627776 THEN told.n_out END AS n_out,
    CASE WHEN told.group_size BETWEEN 1 AND 262144 THEN told.group_size END AS group_size
FROM collective_arg AS told
WHERE file_id = $file_id
    AND (told.n_in, told.n_out, told.group_size) IS DISTINCT FROM (n_in, n_out, group_size);

INSERT INTO ledger
SELECT
    $run, $file_id, 'collective argument out of range', NULL, NULL, 0,
    count(*) || ' events, such as ' || any_value(example), true
FROM absurd
HAVING count(*) > 0;

UPDATE collective_arg
SET n_in = absurd.n_in, n_out = absurd.n_out, group_size = absurd.group_size
FROM absurd
WHERE collective_arg.rowid = absurd.arg_id
