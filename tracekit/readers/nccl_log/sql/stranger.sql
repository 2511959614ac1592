-- Processes of one file that may be none.
CREATE OR REPLACE TEMP TABLE nccl_stranger AS
SELECT unnest($host::VARCHAR[]) AS host, unnest($pid::BIGINT[]) AS pid
