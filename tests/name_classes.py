"""Classes of names by a list of rules, for tests."""

from tracekit.taxonomy import match_names


def classes(con, names, rules):
    con.execute("CREATE OR REPLACE TEMP TABLE class_name AS SELECT unnest($1) AS name", [names])
    match_names(con, rules)
    rows = con.execute("SELECT name, category, rule FROM name_class").fetchall()
    return {name: (category, rule) for name, category, rule in rows}
