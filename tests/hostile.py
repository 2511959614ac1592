"""A run all of whose names are attacks on a page or a terminal."""

from database import add, us

HOSTILE = (
    '</title></style><script>alert("x")</script><img src=x onerror=alert(1)>\'" onload="x'
    " | `a` **b** [c](javascript:d) ![e](http://f.example/g.png) <b>&amp; {{ 7*7 }} \x1b[31m\u202e"
)


def hostile(con, run):
    """Every name that a trace or a user can choose is an attack."""
    add(con, "run", run, engine=HOSTILE, engine_version=HOSTILE, model=HOSTILE, gpu=HOSTILE)
    con.execute("UPDATE run SET status = 'failed', error = ? WHERE run = ?", [HOSTILE, run])
    con.execute("UPDATE run SET speculative_method = ? WHERE run = ?", [HOSTILE, run])
    add(con, "file", run, file_id=0, path=HOSTILE, rank=0, events=9, window_start_ns=0)
    add(con, "ledger", run, file_id=0, events=9, kept=8, skipped=1)
    add(con, "ledger", run, file_id=0, reason=HOSTILE, skipped=1, example=HOSTILE)
    times = {"dur_ns": us(100), "busy_ns": us(90), "idle_ns": us(10)}
    for step in (0, 1):
        add(con, "step", run, rank=0, step=step, kind="decode", start_ns=us(100 * step), **times)
        times_of = dict.fromkeys(("busy_ns", "sum_ns", "exposed_ns"), us(90))
        work = {"rank": 0, "step": step, "category": "unknown", **times_of}
        add(con, "step_category", run, phase="forward", n=1, **work)
    add(con, "kernel", run, name=HOSTILE, category="unknown", impl=HOSTILE)
    named = {"name": HOSTILE, "category": "unknown", "impl": HOSTILE}
    add(con, "activity", run, rank=0, activity_id=0, step=0, start_ns=0, dur_ns=us(90), **named)
