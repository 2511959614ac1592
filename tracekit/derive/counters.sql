-- Counters of drafts that cannot be go: more tokens accepted than drafted, or than drafts at a position. Of
-- those that fell, which nothing reads, the ledger tells.
--
-- Makes: impossible_counts, ledger.

CREATE TEMP TABLE impossible_counts AS
WITH risen AS (
    SELECT
        window_name,
        regexp_extract(name, '^vllm:spec_decode_num_(.+?)(_total)?$', 1) AS name,
        labels ->> 'position' AS position,
        sum(CASE moment WHEN 'after' THEN value ELSE -value END) AS value
    FROM counter
    GROUP BY ALL
),

counted AS (
    SELECT
        window_name,
        max(value) FILTER (WHERE name = 'drafts') AS drafts,
        max(value) FILTER (WHERE name = 'draft_tokens') AS draft_tokens,
        max(value) FILTER (WHERE name = 'accepted_tokens') AS accepted,
        max(value) FILTER (WHERE name = 'accepted_tokens_per_pos') AS accepted_at_one
    FROM risen
    GROUP BY window_name
)

SELECT *
FROM counted
WHERE (accepted > draft_tokens OR accepted_at_one > drafts) AND least(drafts, draft_tokens, accepted) >= 0;

INSERT INTO ledger
SELECT
    $run,
    max(file_id),
    'counters of drafts say more accepted than drafted',
    NULL,
    NULL,
    count(*),
    any_value(format(
        '{:.0f} of {:.0f} draft tokens accepted, {:.0f} at one position of {:.0f} drafts',
        accepted, draft_tokens, accepted_at_one, drafts
    )),
    true
FROM counter
INNER JOIN impossible_counts USING (window_name)
WHERE starts_with(name, 'vllm:spec_decode_num_')
GROUP BY window_name;

INSERT INTO ledger
WITH fallen AS (
    SELECT window_name, name
    FROM counter
    WHERE starts_with(name, 'vllm:spec_decode_num_') AND name NOT LIKE '%\_created' ESCAPE '\'
    GROUP BY window_name, name, labels
    HAVING count(DISTINCT moment) = 2 AND sum(CASE moment WHEN 'after' THEN value ELSE -value END) < 0
)

SELECT
    $run, max(file_id), 'counters of drafts fell: the server was started again', NULL, NULL, count(*),
    any_value(fallen.name), true
FROM counter
INNER JOIN fallen USING (window_name, name)
GROUP BY window_name;

DELETE FROM counter
WHERE starts_with(name, 'vllm:spec_decode_num_')
    AND window_name IN (SELECT window_name FROM impossible_counts);
