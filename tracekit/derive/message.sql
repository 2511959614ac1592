-- What each collective carried.
--
-- Makes: message.

CREATE TEMP TABLE message (
    id BIGINT, dtype VARCHAR, bytes BIGINT, bytes_source bytes_source, group_size INTEGER, algorithm VARCHAR,
    protocol VARCHAR, channels INTEGER, model_ns BIGINT
);
