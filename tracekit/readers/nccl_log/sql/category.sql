-- What the names of collectives in NCCL's logs are called here.
CREATE OR REPLACE TEMP TABLE nccl_category AS
SELECT unnest($names::VARCHAR[]) AS collective, unnest($categories::VARCHAR[]) AS category
