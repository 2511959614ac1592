"""Raw tables to derived tables, in SQL: links, steps, phases."""
