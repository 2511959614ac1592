-- Something that is wrong with a file or with events that are kept: a warning of the ledger.
INSERT INTO ledger VALUES ($run, $file_id, $reason, NULL, NULL, 0, $example, true)
