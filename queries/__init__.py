"""Views and reports over the tables of a tracekit database: one SELECT per file."""
