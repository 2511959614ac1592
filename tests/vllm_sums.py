"""What a real vLLM run must add up to: sums that its counters, its model and its trace fix.

Nothing here comes from tracekit but the public views, read by SQL.
"""

import gzip
import json
import re


def counted(folder, name, labels=""):
    """Difference of a counter between the texts from before and after the profiled window."""
    before, after = (_sample(folder, moment, name, labels) for moment in ("before", "after"))
    return round(after - before)


def counted_in(folder, window):
    """Gives by its name the difference of a counter in a window of a capture."""

    def difference(name):
        paths = (folder / "metrics" / f"{window}_{moment}.prom" for moment in ("before", "after"))
        before, after = (_value(path, name, "") for path in paths)
        return round(after - before)

    return difference


def _sample(folder, moment, name, labels):
    of_capture = folder / "metrics" / f"profiled_{moment}.prom"
    return _value(
        of_capture if of_capture.exists() else folder / "metrics" / f"{moment}.prom", name, labels
    )


def _value(path, name, labels):
    text = path.read_text()
    pattern = rf"^{re.escape(name)}(?:{{[^}}]*{re.escape(labels)}[^}}]*}})? (\S+)$"
    return sum(float(value) for value in re.findall(pattern, text, re.M))


def steps_are_those_counted(con, run, folder):
    rows = con.execute(
        """SELECT rank, count(*), sum(n_prefill_tokens), sum(n_draft_tokens)
           FROM steps WHERE run = ? AND kind <> 'idle' GROUP BY rank""",
        [run],
    ).fetchall()
    expected = (
        counted(folder, "vllm:iteration_tokens_total_count"),
        counted(folder, "vllm:prompt_tokens_total"),
        counted(folder, "vllm:spec_decode_num_draft_tokens_total"),
    )
    assert expected[0] > 0
    assert [row[1:] for row in rows] == [expected] * _n_ranks(con, run)


def ranks_agree(con, run):
    """Steps, what they had to do, and how much of the main work they ran, on every rank."""
    rows = con.execute(
        """SELECT count(DISTINCT rank) FROM steps WHERE run = ?
           GROUP BY step, kind, annotation, is_verify, n_draft_tokens""",
        [run],
    ).fetchall()
    assert set(rows) == {(_n_ranks(con, run),)}
    rows = con.execute(
        """SELECT count(DISTINCT rank) FROM step_breakdown
           WHERE run = ? AND category IN ('all_reduce', 'all_gather', 'gemm', 'attention')
           GROUP BY step, phase, category, n""",
        [run],
    ).fetchall()
    assert set(rows) == {(_n_ranks(con, run),)}


def passes_hold_the_models_work(con, run, folder, *, draft_passes=0):
    """Per rank: each pass of L layers has 4L+1 GEMMs, and 2L+1 all-reduces and a logits gather."""
    layers = json.loads(next(folder.glob("models/*/config.json")).read_text())["num_hidden_layers"]
    in_one_pass = {"gemm": 4 * layers + 1}
    if _n_ranks(con, run) > 1:
        in_one_pass |= {"all_reduce": 2 * layers + 1, "all_gather": 1}
    steps = counted(folder, "vllm:iteration_tokens_total_count")
    expected = {("target", category): n * steps for category, n in in_one_pass.items()}
    if draft_passes:
        per_step = {("draft", category): n * draft_passes for category, n in in_one_pass.items()}
        expected |= {place: n * steps for place, n in per_step.items()}
    for rank in range(_n_ranks(con, run)):
        assert _work(con, run, rank) == expected


def _work(con, run, rank):
    rows = con.execute(
        """SELECT CASE WHEN phase IN ('forward', 'verify') THEN 'target' ELSE phase END, category,
                  count(*)
           FROM activities
           WHERE run = ? AND rank = ? AND category IN ('all_reduce', 'all_gather', 'gemm')
           GROUP BY ALL""",
        [run, rank],
    ).fetchall()
    return {(phase, category): n for phase, category, n in rows}


def spec_decode_is_what_was_counted(con, run, folder):
    drafts = counted(folder, "vllm:spec_decode_num_drafts_total")
    tokens = counted(folder, "vllm:spec_decode_num_draft_tokens_total")
    accepted = counted(folder, "vllm:spec_decode_num_accepted_tokens_total")
    assert con.execute(
        """SELECT drafts, draft_tokens, accepted, acceptance_rate, mean_acceptance_length
           FROM spec_decode WHERE run = ? AND position IS NULL""",
        [run],
    ).fetchall() == [(drafts, tokens, accepted, accepted / tokens, 1 + accepted / drafts)]
    at_positions = con.execute(
        "SELECT position, accepted FROM spec_decode WHERE run = ? AND position IS NOT NULL", [run]
    ).fetchall()
    per_position = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    assert len(at_positions) == 3
    for position, n in at_positions:
        assert n == counted(folder, per_position, f'position="{position}"')


def verify_is_the_forward_pass_of_steps_with_drafts(con, run):
    rows = con.execute(
        """SELECT DISTINCT steps.is_verify, steps.n_draft_tokens > 0, step_phases.phase
           FROM steps INNER JOIN step_phases USING (run, dp, rank, step)
           WHERE run = ? AND phase IN ('forward', 'verify')""",
        [run],
    ).fetchall()
    assert set(rows) <= {(True, True, "verify"), (False, False, "forward")}
    assert rows


def phases_come_from_the_engine(con, run):
    sources = con.execute(
        "SELECT DISTINCT phase_source FROM step_phases WHERE run = ? AND phase <> 'other'", [run]
    ).fetchall()
    assert sources == [("engine",)]


def every_event_is_accounted_for(con, run, folder):
    """The ledger's total of each file is the length of its traceEvents, all kept or skipped."""
    totals = con.execute(
        """SELECT file, events, kept + skipped FROM ingest_ledger
           WHERE run = ? AND reason IS NULL ORDER BY file""",
        [run],
    ).fetchall()
    traces = sorted(folder.glob("traces/*.json.gz"))
    events = [len(json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]) for path in traces]
    assert totals == [
        (str(path.relative_to(folder)), n, n) for path, n in zip(traces, events, strict=True)
    ]


def busy_idle_and_waiting_fill_the_window(con, run):
    rows = con.execute(
        """SELECT busy_ns + idle_ns + wait_for_work_ns - dur_ns,
                  least(busy_ns, idle_ns, wait_for_work_ns) >= 0
           FROM steps WHERE run = ? AND dur_ns IS NOT NULL""",
        [run],
    ).fetchall()
    assert set(rows) == {(0, True)}


def _n_ranks(con, run):
    return con.execute("SELECT n_ranks FROM runs WHERE run = ?", [run]).fetchone()[0]
