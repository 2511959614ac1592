import pytest

from tracekit.readers.windows import read_windows

METRICS = "a_total 1\n"
WINDOW = "SELECT window_name, is_profiled, concurrency, start_ns, dur_ns FROM capture_window"


def test_windows_of_run_json_are_rows(folder):
    times = {"start_ns": 1_795_961_069_016_733_685, "dur_ns": 1_200, "concurrency": 4}
    windows = [
        {"name": "unprofiled", "is_profiled": False, **times},
        {"name": "profiled", "is_profiled": True, "stop_profile_ns": 9, "start_ns": 5},
    ]
    read_windows(folder.con, folder.write({}, windows))
    assert folder.rows(f"{WINDOW} ORDER BY start_ns DESC") == [
        ("unprofiled", False, 4, times["start_ns"], 1_200),
        ("profiled", True, None, 5, None),
    ]
    assert folder.rows("SELECT max(stop_profile_ns) FROM capture_window") == [(9,)]
    assert folder.losses() == {}


def test_files_belong_to_the_window_that_names_them(folder):
    files = {"m/b.prom": METRICS, "m/a.prom": METRICS, "logs/s.log": "INFO 01-01 00:00:00 x\n"}
    window = {
        "name": "w",
        "metrics_before": "m/b.prom",
        "metrics_after": "m/../m/a.prom",
        "log": {"path": "logs/s.log", "from_byte": 10, "to_byte": 20},
    }
    inputs = folder.write(files, [window])
    found = read_windows(folder.con, inputs)
    ids = {file.shown: i for i, file in enumerate(inputs.others)}
    assert found.metrics == {ids["m/b.prom"]: ("w", "before"), ids["m/a.prom"]: ("w", "after")}
    log = ids["logs/s.log"]
    assert [found.of_line(log, byte) for byte in (9, 10, 19, 20)] == [None, "w", "w", None]
    assert found.of_line(log + 99, 10) is None


@pytest.mark.parametrize(
    "windows",
    [
        ["text", 1, None, [], {}],
        [{"name": ""}, {"name": 3}, {"name": None}, {"name": ["x"]}, {"is_profiled": True}],
        [{"name": "a"}] * 6,
    ],
    ids=["no objects", "no names", "one name"],
)
def test_what_is_no_window_is_counted(folder, windows):
    read_windows(folder.con, folder.write({}, windows))
    assert folder.losses() == {"window not understood": 5}


def test_absurd_values_are_nothing(folder):
    absurd = {"start_ns": 2**63, "dur_ns": -1, "concurrency": True, "stop_profile_ns": 1.5}
    read_windows(folder.con, folder.write({}, [{"name": "\ud800'; DROP", **absurd}]))
    assert folder.rows(WINDOW) == [("\\ud800'; DROP", False, None, None, None)]


def test_files_elsewhere_are_not_looked_at(folder):
    (folder.path.parent / "secret.prom").write_text(METRICS)
    outside = {"metrics_before": "../secret.prom", "metrics_after": "/etc/passwd", "load": 7}
    log = {"path": "logs/none.log", "from_byte": 0, "to_byte": 1}
    found = read_windows(folder.con, folder.write({}, [{"name": "w", "log": log, **outside}]))
    assert (found.metrics, found.files, found.logs) == ({}, {}, {})
    assert folder.losses() == {"file of a window that is not there": 4}


def test_a_part_of_a_log_that_is_none_is_counted(folder):
    files = {"s.log": "INFO 01-01 00:00:00 x\n"}
    parts = [(5, 5), (9, 2), (-1, 4), (None, 3), ("0", 1)]
    windows = [
        {"name": f"w{i}", "log": {"path": "s.log", "from_byte": a, "to_byte": b}}
        for i, (a, b) in enumerate(parts)
    ]
    found = read_windows(folder.con, folder.write(files, windows))
    assert found.logs == {}
    assert folder.losses() == {"window not understood": 5}


def test_without_windows_names_of_metrics_tell(folder):
    names = ("unprofiled_before", "unprofiled_after", "before", "after")
    inputs = folder.write({f"{name}.prom": METRICS for name in names})
    found = read_windows(folder.con, inputs)
    told = {inputs.others[i].shown: place for i, place in found.metrics.items()}
    assert told == {
        "unprofiled_before.prom": ("unprofiled", "before"),
        "unprofiled_after.prom": ("unprofiled", "after"),
        "before.prom": ("profiled", "before"),
        "after.prom": ("profiled", "after"),
    }
    assert folder.rows(f"{WINDOW} ORDER BY ALL") == [
        ("profiled", True, None, None, None),
        ("unprofiled", False, None, None, None),
    ]
