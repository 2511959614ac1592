-- Choices of one file whose line was cut in its last word: by kernel and threads, or by category and kernel.
DELETE FROM nccl_tuning
WHERE run = $run AND file_id = $file_id
    AND ($category IS NULL OR category = $category)
    AND kernel = $kernel
    AND n_threads IS NOT DISTINCT FROM $n_threads
