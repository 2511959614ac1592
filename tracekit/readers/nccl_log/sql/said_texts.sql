-- Texts of the messages of one file, each once, but for warnings: those have no form to be parsed.
CREATE OR REPLACE TEMP TABLE nccl_text AS
SELECT DISTINCT form, text
FROM nccl_said
WHERE file_id = $file_id AND text IS NOT NULL AND form != 'warning';

CREATE OR REPLACE TEMP TABLE nccl_form (
    form VARCHAR, text VARCHAR,
    kind VARCHAR,  -- choice, link, model or note
    content VARCHAR,  -- equal where two texts say the same
    topic VARCHAR, word VARCHAR,  -- the last word, which may be cut, and what it is about
    category VARCHAR, bytes BIGINT, algorithm VARCHAR, protocol VARCHAR, n_channels INTEGER, kernel VARCHAR,
    n_threads INTEGER, model_ns BIGINT,
    channel INTEGER, connection INTEGER, from_rank INTEGER, to_rank INTEGER, direction VARCHAR, transport VARCHAR,
    detail VARCHAR,
    cell INTEGER, latency_ns DOUBLE, algbw_gb_per_s DOUBLE, max_threads INTEGER,
    note_kind VARCHAR, name VARCHAR, value VARCHAR, facts JSON
)
