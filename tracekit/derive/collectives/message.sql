-- What each collective carried, how NCCL sent it, and the least time its own model gives for it.
--
-- Makes: message.

CREATE TEMP TABLE message AS
SELECT
    matched.id, element AS dtype, sized.bytes, source AS bytes_source,
    sized.n_ranks AS group_size, algorithm, protocol, coalesce(channels, n_channels) AS channels,
    coalesce(logged_ns, model_ns) AS model_ns
FROM matched
LEFT JOIN sized USING (id)
LEFT JOIN choice USING (sent_id)
LEFT JOIN bound USING (sent_id);
