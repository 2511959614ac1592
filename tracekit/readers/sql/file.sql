INSERT INTO file
VALUES (
    $run, $file_id, $path, $kind, $dp, $rank, $stage, $host_name, $base_ns, $grain_ns, $bytes,
    $events, $window_start_ns, $window_end_ns, $metadata
)
