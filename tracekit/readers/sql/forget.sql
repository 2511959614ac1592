-- All that came of a file.
DELETE FROM host_call WHERE file_id = $file_id;
DELETE FROM host_op WHERE file_id = $file_id;
DELETE FROM scope WHERE file_id = $file_id;
DELETE FROM device_event WHERE file_id = $file_id;
DELETE FROM skipped WHERE file_id = $file_id;
DELETE FROM event WHERE file_id = $file_id;
DELETE FROM ledger WHERE file_id = $file_id
