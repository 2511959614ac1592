"""The view Collectives: waiting and transfer, sizes, ranks."""

import pytest
from database import add, write_database
from samples import baseline

import tracekit
from tracekit import units
from tracekit.app.charts import collectives


def said(page):
    return " ".join(message.value.replace("\\", "") for message in [*page.info, *page.markdown])


def frame(db, name, **params):
    return tracekit.open(db).report(name, **params).df()


def test_waiting_is_that_of_the_report(view, db):
    page = view("collectives", run="vllm_cpu_tp2_draft")
    (skew,) = tracekit.open(db).report("comm_skew", run="vllm_cpu_tp2_draft").records()
    shown = {metric.label: metric.value for metric in page.metric}
    assert shown["waiting"] == f"{units.ms(skew.waiting_ns)} ms"
    assert "of the waiting is for rank 0" in said(page)


def test_a_run_of_one_rank_says_what_to_run(view):
    page = view("collectives", run="drafting")
    assert "no collectives" in said(page)
    assert [text.value for text in page.text] == [
        "tracekit capture --run NAME -- vllm serve MODEL -tp 8"
    ]


def warned(con, run):
    """The run baseline, with a warning in NCCL's log."""
    baseline(con, run)
    add(con, "nccl_note", run, kind="warning", name="net.cc:7", value="Cuda failure 999 'unknown'")


def test_what_nccl_warned_of_stands_below_what_is_doubtful(view, tmp_path):
    database = write_database(tmp_path / "runs.duckdb", warned)
    page = view("collectives", database=database)
    (warning,) = tracekit.open(database).report("comm_warnings", run="warned").records()
    (shown,) = (table.value for table in page.dataframe if "meaning" in table.value)
    assert (shown["example"][0], shown["meaning"][0]) == (warning.example, warning.meaning)
    assert "What is doubtful" in [heading.value for heading in page.subheader]


def test_a_measured_curve_is_chosen_and_kept_in_the_address(view):
    page = view("collectives", run="vllm_cpu_tp2_draft")
    page.selectbox(key="curve").select("baseline").run()
    assert not page.exception
    assert page.query_params["calibration"] == "baseline"


def test_sizes_are_compared_with_the_bound_and_the_curve(db):
    calls = frame(db, "comms", run="baseline")
    chart = collectives.sizes(calls, frame(db, "bench_curve", run="baseline"), is_dark=False)
    marks = [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    assert marks == ["rule", "point", "tick", "line"]
    no_curve = frame(db, "bench_curve", run="drafting")
    marks = collectives.sizes(calls, no_curve, is_dark=True).to_dict()["layer"]
    assert "line" not in [layer["mark"]["type"] for layer in marks]


def test_parts_of_a_collective_add_up_to_its_time(db):
    waiting = frame(db, "comm_waiting", run="baseline").dropna(subset="phase")
    (rows,) = collectives.split(waiting, is_dark=False).to_dict()["datasets"].values()
    assert sum(row["ms"] for row in rows) == pytest.approx(waiting["busy_ns"].sum() / 1e6)


@pytest.mark.parametrize(("measure", "total"), [("waiting", 0.3), ("waited for", 0.3)])
def test_the_map_shows_each_rank_and_step(db, measure, total):
    cells = frame(db, "comm_rank_steps", run="baseline")
    (rows,) = collectives.rank_steps(cells, measure, is_dark=False).to_dict()["datasets"].values()
    assert sorted({row["row"] for row in rows}) == ["rank 0", "rank 1"]
    assert sum(row["ms"] for row in rows) == pytest.approx(total)


def test_who_is_last_stands_beside_what_that_costs(db):
    chart = collectives.last(frame(db, "comm_ranks", run="baseline"), is_dark=False).to_dict()
    (rows,) = chart["datasets"].values()
    assert [row["row"] for row in rows] == ["rank 0", "rank 1"]
    assert rows[1]["said"] == "last in 50.0 % of its calls"


def test_rows_of_a_chart_have_their_pixels_however_few_they_are(db):
    pictures = [
        collectives.split(frame(db, "comm_waiting", run="baseline").dropna(subset="phase"), False),
        collectives.rank_steps(frame(db, "comm_rank_steps", run="baseline"), "waiting", False),
        collectives.last(frame(db, "comm_ranks", run="baseline"), False),
    ]
    heights = [picture.to_dict()["height"] for picture in pictures]
    assert heights == [collectives.ROW * n for n in (1, 2, 2)]
