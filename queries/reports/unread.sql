-- Files of a run that were looked at and not read.
--
-- Answers: was one of my files not recognised?
-- Grain: one row per file.
-- Params:
--   $run VARCHAR: run to read.
-- Columns:
--   path VARCHAR: path relative to what was ingested.
--   bytes BIGINT: size on disk.
-- Limits: configs and logs whose kind is known are not listed.

SELECT path, bytes
FROM file
WHERE run = $run AND kind = 'other'
ORDER BY path
