-- What a kernel's name tells about steps and phases, one row per name of the run.
--
-- Source: kernel sequences of the vLLM V1 and V2 model runners, 0.8-0.33, and of SGLang's EAGLE
-- workers; a copy is known by its direction (CUPTI and roctracer spell it alike).
--
-- Makes: category_code, signature.

CREATE TEMP TABLE category_code AS
SELECT category, row_number() OVER (ORDER BY category) AS category_id
FROM (
    SELECT category FROM kernel
    UNION
    SELECT category FROM collective_category
);

-- `traits` has one bit for each: launch.sql takes them together over activities, at once.
CREATE TEMP TABLE signature AS
WITH known AS (
    SELECT
        name, row_number() OVER (ORDER BY name) AS name_id, category, impl,
        category = 'embedding' AS is_embedding,
        category = 'norm' AS is_norm,
        category IN ('gemm', 'moe_gemm') AS is_gemm,
        category IN (
            'all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all', 'send_recv', 'broadcast',
            'barrier', 'collective_other'
        ) AS is_collective,
        regexp_matches(name, 'DtoH|DeviceToHost') AS is_output_copy,
        regexp_matches(name, 'HtoD|HostToDevice')
            OR (category = 'runner_prep' AND NOT contains(name, '_post_update')) AS is_input,
        contains(name, '_prepare_pos_seq_lens_kernel') AS is_v2_marker,
        regexp_matches(
            name,
            '_prepare_pos_seq_lens_kernel|_combine_sampled_and_draft_tokens_kernel'
            || '|_post_update_kernel|_gather_block_tables_kernel'
        ) AS is_v2,
        regexp_matches(
            name, '_gather_draft_sampled|_compute_\w*_stats|_rejection|_gumbel_sample'
        ) AS is_v2_sampling,
        contains(name, '_post_update_kernel') AS is_post_update,
        regexp_matches(name, 'eagle_prepare_|copy_and_expand_') AS is_draft_input,
        regexp_matches(
            name, 'rejection_\w*sample|_rejection_kernel|VerifyTree|TreeSpeculativeSampling'
        ) AS is_rejection
    FROM kernel
)
SELECT
    *,
    is_embedding::INTEGER + is_norm::INTEGER * 2 + is_gemm::INTEGER * 4
    + is_collective::INTEGER * 8 + is_output_copy::INTEGER * 16 + is_input::INTEGER * 32
    + is_v2_marker::INTEGER * 64 + is_v2::INTEGER * 128 + is_v2_sampling::INTEGER * 256
    + is_post_update::INTEGER * 512 + is_draft_input::INTEGER * 1024 + is_rejection::INTEGER * 2048 AS traits
FROM known;
