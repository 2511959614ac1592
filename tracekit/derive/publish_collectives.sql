-- Calls of collectives with their messages into their table.
--
-- Makes: collective.

INSERT INTO collective
SELECT
    $run, file_id, dp, rank, collective, comm, seq, id, n_activities, step, phase, name, category, impl,
    is_fused, coalesce(matched.group_size, message.group_size), dtype, bytes, bytes_source, start_ns, dur_ns,
    launch_ns, starved_ns, wait_ns, transfer_ns, algorithm, protocol, channels, model_ns, match
FROM matched
LEFT JOIN message USING (id)
ORDER BY dp, collective, rank;
