import pytest

from tracekit.readers.gpu_samples import read_samples

START = 1_795_953_812_000_000_000  # 2026-11-29 12:03:32 UTC
WINDOW = [{"name": "w", "start_ns": START - 400_000_000, "gpu_samples": "gpu.csv"}]
HEADING = (
    "timestamp, index, name, clocks.current.sm [MHz], clocks.current.memory [MHz], power.draw [W], "
    "power.limit [W], temperature.gpu, temperature.memory, utilization.gpu [%], memory.used [MiB], "
    "clocks_event_reasons.active"
)
FIRST = "timestamp, index, clocks_event_reasons.active"
ROW = (
    "2026/11/29 12:03:32.123, 3, NVIDIA H200, 1980 MHz, 3201 MHz, 412.57 W, 700.00 W, 61, 70, 98 %,"
    " 2048 MiB, 0x0000000000000004"
)
VALUES = (1980, 3201, 412.57, 700, 61, 70, 0.98, 2 * 1024**3, 4)
COLUMNS = (
    "sm_clock_mhz, memory_clock_mhz, power_w, power_limit_w, temperature_c, memory_temperature_c,"
    " utilization_ratio, memory_used_bytes, throttle_mask"
)


def read(folder, *lines, windows=WINDOW):
    folder.read(read_samples, "gpu_samples", {"gpu.csv": "\n".join(lines) + "\n"}, windows)


def nothing_but(**said):
    return tuple(said.get(column) for column in COLUMNS.replace(",", "").split())


def test_a_row_of_nvidia_smi_is_read(folder):
    read(folder, HEADING, ROW)
    assert folder.rows("SELECT window_name, gpu, name, start_ns FROM gpu_sample") == [
        ("w", 3, "NVIDIA H200", START + 123_000_000)
    ]
    assert folder.rows(f"SELECT {COLUMNS} FROM gpu_sample") == [VALUES]
    assert folder.losses() == {}


def test_units_are_in_the_heading_alone_with_nounits(folder):
    row = ROW
    for unit in (" MHz", " W", " %", " MiB"):
        row = row.replace(unit, "")
    read(folder, HEADING, row)
    assert folder.rows(f"SELECT {COLUMNS} FROM gpu_sample") == [VALUES]


def test_columns_are_told_by_the_heading_whatever_their_order(folder):
    read(
        folder,
        "index, power.draw [W], fan.speed [%], timestamp",
        "0, 70.5, 33, 2026/11/29 12:00:00.000",
    )
    assert folder.rows("SELECT gpu, power_w, sm_clock_mhz FROM gpu_sample") == [(0, 70.5, None)]


@pytest.mark.parametrize("word", ["N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "", "-"])
def test_what_a_gpu_does_not_tell_is_null_and_no_loss(folder, word):
    cells = ["2026/11/29 12:03:32.123", "0", "GPU", *[word] * 9]
    read(folder, HEADING, ", ".join(cells))
    assert folder.rows(f"SELECT {COLUMNS} FROM gpu_sample") == [nothing_but()]
    assert folder.losses() == {}


@pytest.mark.parametrize("word", ["throttle", "event"])
@pytest.mark.parametrize(("cell", "mask"), [("0x0000000000000060", 96), ("0x0", 0), ("12", 12)])
def test_throttle_reasons_have_two_names(folder, word, cell, mask):
    heading = FIRST.replace("event", word)
    read(folder, heading, f"2026/11/29 12:03:32.123, 0, {cell}")
    assert folder.rows("SELECT throttle_mask FROM gpu_sample") == [(mask,)]


def test_reasons_with_columns_of_their_own_become_bits(folder):
    names = "clocks_event_reasons.sw_power_cap, clocks_event_reasons.hw_thermal_slowdown"
    read(folder, f"timestamp, index, {names}", "2026/11/29 12:03:32.123, 0, Active, Not Active")
    assert folder.rows("SELECT throttle_mask FROM gpu_sample") == [(4,)]


@pytest.mark.parametrize("hours", [-9.5, -1, 0, 5.75, 14])
def test_local_time_is_set_right_by_the_windows_start(folder, hours):
    windows = [{**WINDOW[0], "start_ns": round(START - hours * 3_600e9) - 2_000_000_000}]
    rows = [f"2026/11/29 12:03:3{second}.123, 0, 0x0" for second in (2, 3)]
    read(folder, FIRST, *rows, windows=windows)
    base = round(START - hours * 3_600e9)
    found = folder.rows("SELECT start_ns FROM gpu_sample ORDER BY ALL")
    assert found == [(base + 123_000_000,), (base + 1_123_000_000,)]


def test_without_a_window_the_time_is_not_known(folder):
    read(folder, FIRST, "2026/11/29 12:03:32.123, 0, 0x0", windows=None)
    assert folder.rows("SELECT window_name, start_ns FROM gpu_sample") == [(None, None)]


def test_bad_rows_and_values_are_counted_and_spoil_no_other(folder):
    read(
        folder,
        HEADING,
        ROW,
        "2026/11/29 12:03:33.123, 3, NVID",
        "Unable to determine the device handle for GPU0000:01:00.0: Unknown Error",
        ROW.replace(" 3,", " -1,"),
        ROW.replace(" 3,", " ³,"),
        ROW.replace("1980 MHz", "fast").replace("0x0000000000000004", "0x" + "f" * 40),
        ROW.replace("2026/11", "2026/13"),
    )
    assert folder.rows("SELECT count(*), count(sm_clock_mhz) FROM gpu_sample") == [(3, 2)]
    assert folder.losses() == {
        "GPU sample not understood": 4,
        "value of a GPU sample not understood": 3,
    }
