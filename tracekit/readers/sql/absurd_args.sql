-- Counts of one file that no message and no group has become NULL, and a warning of the ledger. With
-- what remains, elements times bytes times ranks fits into BIGINT.
CREATE OR REPLACE TEMP TABLE absurd AS
SELECT
    rowid AS arg_id,
    concat_ws(
        ', ', left(name, 200), 'In msg nelems ' || n_in, 'Out msg nelems ' || n_out, 'Group size ' || group_size
    ) AS example,
    CASE WHEN n_in BETWEEN 0 AND 1099511627776 THEN n_in END AS sane_in,
    CASE WHEN n_out BETWEEN 0 AND 1099511627776 THEN n_out END AS sane_out,
    CASE WHEN group_size BETWEEN 1 AND 262144 THEN group_size END AS sane_size
FROM collective_arg
WHERE file_id = $file_id AND (n_in, n_out, group_size) IS DISTINCT FROM (sane_in, sane_out, sane_size);

INSERT INTO ledger
SELECT
    $run, $file_id, 'collective argument out of range', NULL, NULL, 0,
    count(*) || ' events, such as ' || any_value(example), true
FROM absurd
HAVING count(*) > 0;

UPDATE collective_arg
SET n_in = sane_in, n_out = sane_out, group_size = sane_size
FROM absurd
WHERE collective_arg.rowid = arg_id
