-- Calls that are not to be believed: `is_joined` only from the first torn line on.
CREATE OR REPLACE TEMP TABLE nccl_doubt AS
SELECT
    unnest($host::VARCHAR[]) AS host,
    unnest($pid::BIGINT[]) AS pid,
    unnest($comm::VARCHAR[]) AS comm,
    unnest($n_ranks::INTEGER[]) AS n_ranks,
    unnest($stream::VARCHAR[]) AS stream,
    unnest($global_rank::INTEGER[]) AS global_rank,
    unnest($is_joined::BOOLEAN[]) AS is_joined
