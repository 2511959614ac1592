-- Last words that were cut, by what decides them.
CREATE OR REPLACE TEMP TABLE nccl_cut AS
SELECT
    unnest($kind::VARCHAR[]) AS kind,
    unnest($of_host::VARCHAR[]) AS of_host,
    unnest($of_pid::BIGINT[]) AS of_pid,
    unnest($topic::VARCHAR[]) AS topic,
    unnest($word::VARCHAR[]) AS word
