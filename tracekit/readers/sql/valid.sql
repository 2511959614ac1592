-- Whether each text is JSON, in the order of the texts; NULL is none.
SELECT [text IS NOT NULL AND json_valid(text) FOR text IN $texts::VARCHAR[]]
