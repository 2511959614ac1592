-- What is counted and not kept.
DELETE FROM event WHERE file_id = $file_id AND skip IS NOT NULL
