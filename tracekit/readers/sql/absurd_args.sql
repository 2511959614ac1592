-- Counts of one file that no message and no group has, such as half an element, become NULL, and a warning of
-- the ledger; so do both of an all-reduce that differ. With what remains, elements times bytes times ranks
-- fits into BIGINT.
CREATE OR REPLACE TEMP MACRO as_told(n) AS rtrim(rtrim(n::VARCHAR, '0'), '.');

CREATE OR REPLACE TEMP TABLE absurd AS
SELECT
    rowid AS arg_id,
    concat_ws(
        ', ', left(name, 200), 'In msg nelems ' || as_told(n_in), 'Out msg nelems ' || as_told(n_out),
        'Group size ' || group_size
    ) AS example,
    n_in BETWEEN 0 AND 1099511627776 AND n_in = trunc(n_in) AS is_in,
    n_out BETWEEN 0 AND 1099511627776 AND n_out = trunc(n_out) AS is_out,
    is_in AND is_out AND n_in != n_out AND least(n_in, n_out) > 0 AND regexp_matches(collective, '^all_?reduce')
        AS is_torn,
    CASE WHEN is_in AND is_torn IS NOT TRUE THEN n_in END AS sane_in,
    CASE WHEN is_out AND is_torn IS NOT TRUE THEN n_out END AS sane_out,
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
