-- Lines of one file put together from two pieces, although their process began another between the two.
CREATE OR REPLACE TEMP TABLE nccl_unmended AS
WITH mended AS (
    SELECT at_byte, tail_at_byte, host, pid FROM nccl_said WHERE file_id = $file_id AND tail_at_byte IS NOT NULL
    UNION
    SELECT at_byte, tail_at_byte, host, pid FROM nccl_stage WHERE file_id = $file_id AND tail_at_byte IS NOT NULL
),

begun AS (
    FROM (
        SELECT at_byte, host, pid FROM nccl_said WHERE file_id = $file_id
        UNION ALL
        SELECT at_byte, host, pid FROM nccl_stage WHERE file_id = $file_id
    )
    WHERE at_byte > (SELECT min(at_byte) FROM mended) AND at_byte < (SELECT max(tail_at_byte) FROM mended)
)

SELECT mended.at_byte
FROM mended
ASOF JOIN begun ON begun.host = mended.host AND begun.pid = mended.pid AND begun.at_byte > mended.at_byte
WHERE begun.at_byte < mended.tail_at_byte;

DELETE FROM nccl_said WHERE file_id = $file_id AND tail_at_byte IS NOT NULL AND at_byte IN (FROM nccl_unmended)
