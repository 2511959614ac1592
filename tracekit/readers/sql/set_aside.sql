-- Events of vLLM's front end: a process of its own, no rank and no part of any step.
UPDATE event
SET skip = 'front end', name = NULL, kind = NULL, collective = NULL
WHERE file_id = $file_id AND skip IS NULL
