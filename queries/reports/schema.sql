-- Views and tables of the database with the comments stored in it.
--
-- Answers: which columns can I query, and what do they mean?
-- Grain: one row per column of each view, then of each table.
-- Params:
--   $tables BOOLEAN = true: tables too, not only views.
--   $name VARCHAR = NULL: only this view or table; NULL = all.
-- Columns:
--   relation VARCHAR: view or table.
--   kind VARCHAR: view or table.
--   relation_comment VARCHAR: what a row of it is.
--   column_name VARCHAR: column.
--   type VARCHAR: its type.
--   comment VARCHAR: its meaning and unit.
-- Limits: views are the public surface; tables may change with the schema version.

WITH relations AS (
    SELECT view_name AS relation, 'view' AS kind, comment
    FROM duckdb_views()
    WHERE database_name = current_database() AND NOT internal
    UNION ALL
    SELECT table_name, 'table', comment
    FROM duckdb_tables()
    WHERE database_name = current_database() AND NOT internal
)

SELECT
    relations.relation,
    relations.kind,
    relations.comment AS relation_comment,
    columns.column_name,
    columns.data_type AS type,
    columns.comment
FROM relations
INNER JOIN duckdb_columns() AS columns
    ON columns.table_name = relations.relation AND columns.database_name = current_database()
WHERE ($name IS NULL OR relations.relation = $name) AND ($tables OR relations.kind = 'view')
ORDER BY relations.kind DESC, relations.relation, columns.column_index
