-- Times of a file whose base stood behind its events.
UPDATE host_call SET start_ns = start_ns + $base_ns WHERE file_id = $file_id;
UPDATE host_op SET start_ns = start_ns + $base_ns WHERE file_id = $file_id;
UPDATE scope SET start_ns = start_ns + $base_ns WHERE file_id = $file_id;
UPDATE device_row SET start_ns = start_ns + $base_ns WHERE file_id = $file_id;
UPDATE collective_arg SET start_ns = start_ns + $base_ns WHERE file_id = $file_id;
UPDATE skipped SET start_ns = start_ns + $base_ns, end_ns = end_ns + $base_ns WHERE file_id = $file_id
