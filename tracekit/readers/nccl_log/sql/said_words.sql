-- Last words of messages that stand (of choices: of all), by what decides them: how often each was said, in order.
SELECT kind, of_host, of_pid, topic, word, sum(n)::BIGINT AS n
FROM (
    SELECT
        *,
        CASE kind WHEN 'link' THEN host END AS of_host,
        CASE kind WHEN 'link' THEN pid END AS of_pid
    FROM nccl_group
    WHERE word IS NOT NULL AND (stands OR kind = 'choice')
)
GROUP BY ALL
ORDER BY ALL
