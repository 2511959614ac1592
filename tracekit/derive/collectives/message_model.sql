-- Messages from the model: hidden states that tensor parallelism adds up in the target's pass.
--
-- Every all-reduce there has a row of hidden_size elements for each token of the step. CUDA graphs pad the
-- tokens to the size that was captured, which only NCCL's log tells: in a graph this is the least it can be.
-- Of drafts nothing is claimed: how many tokens a pass of theirs has is not told.
--
-- Makes: hidden, claim.

CREATE TEMP TABLE hidden AS
WITH config AS (
    SELECT
        regexp_extract(path, '([^/]+)/[^/]+$', 1) AS folder,
        coalesce(
            metadata ->> '$.text_config.hidden_size', metadata ->> '$.hidden_size', metadata ->> '$.n_embd'
        ) AS size,
        coalesce(
            metadata ->> '$.text_config.dtype', metadata ->> '$.text_config.torch_dtype',
            metadata ->> '$.dtype', metadata ->> '$.torch_dtype'
        ) AS dtype
    FROM file
    WHERE kind = 'config' AND metadata IS NOT NULL
),
-- A drafter has a config of its own: the folder tells.
chosen AS (
    SELECT config.*
    FROM config
    CROSS JOIN run
    WHERE (SELECT count(*) FROM config) = 1
        OR folder = regexp_extract(rtrim(model, '/'), '([^/]+)$', 1)
),
command AS (
    SELECT TRY_CAST(coalesce(context -> '$.command', context -> '$.cmd') AS VARCHAR[]) AS words
    FROM run
),
asked AS (
    SELECT nullif(words[list_position(words, '--dtype') + 1], 'auto') AS dtype
    FROM command
    WHERE list_contains(words, '--dtype')
)
SELECT
    TRY_CAST(any_value(size) AS INTEGER) AS size,
    -- Weights of 4 bytes are served as something smaller unless asked for.
    coalesce(
        (SELECT torch_name FROM asked JOIN element_types() ON name = bare_type(dtype)),
        (
            SELECT nullif(torch_name, 'Float')
            FROM chosen JOIN element_types() ON name = bare_type(dtype)
            LIMIT 1
        )
    ) AS element
FROM chosen
HAVING count(*) = 1 AND TRY_CAST(any_value(size) AS INTEGER) > 0;

INSERT INTO claim
SELECT
    id, 'model', hidden.element, (n_prefill_tokens::BIGINT + n_decode_tokens) * size, NULL, NULL
FROM carried
JOIN step
    ON step.dp = carried.dp AND step.rank IS NOT DISTINCT FROM carried.rank AND step.step = carried.step
CROSS JOIN hidden
CROSS JOIN run
WHERE carried.category = 'all_reduce' AND carried.phase IN ('forward', 'verify')
    AND n_prefill_tokens + n_decode_tokens > 0
    AND engine IN ('vllm', 'sglang')
    AND coalesce(carried.group_size = tensor_parallel, true);
