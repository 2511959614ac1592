from core.fake_ingest import ingest

from tracekit import schema, store


def test_describe_lists_views_and_tables_with_their_comments(db):
    ingest(db, "baseline")
    relations = schema.describe(store.open_readonly(db))
    assert relations[0] == schema.Relation(
        "runs",
        "view",
        "One row per run.",
        (schema.Column("run", "VARCHAR", ""), schema.Column("source", "VARCHAR", "")),
    )
    tables = [relation.name for relation in relations if relation.kind == "table"]
    assert tables == sorted(["meta", *schema.RUN_TABLES])


def test_every_table_and_column_has_a_comment(db):
    ingest(db, "baseline")
    tables = [r for r in schema.describe(store.open_readonly(db)) if r.kind == "table"]
    silent = [r.name for r in tables if not r.comment]
    silent += [f"{r.name}.{c.name}" for r in tables for c in r.columns if not c.comment]
    assert silent == []


def test_every_table_but_meta_has_rows_of_runs(db):
    ingest(db, "baseline")
    relations = schema.describe(store.open_readonly(db))
    without = [r.name for r in relations if "run" not in {c.name for c in r.columns}]
    assert without == ["meta"]
