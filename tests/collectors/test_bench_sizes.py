"""How a user writes message sizes and bursts."""

import pytest

from tracekit.collectors.bench.sizes import MAX_CALLS, burst_of, sequence_of, sizes_of


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("14KiB", (14_336,)),
        ("14336", (14_336,)),
        ("1KiB-8KiB", (1024, 2048, 4096, 8192)),
        ("1KiB-7KiB", (1024, 2048, 4096)),
        ("3KiB-12KiB", (3072, 6144, 12_288)),
        ("1 MiB, 14KiB,1MiB", (14_336, 1 << 20)),
        ("16gib", (16 << 30,)),
    ],
)
def test_sizes_are_a_list_or_doublings(text, sizes):
    assert sizes_of(text) == sizes


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "write a size"),
        ("0", "write a size"),
        ("14KB", "write a size"),
        ("-1", "write a size"),
        ("1KiB-", "write a size"),
        ("17GiB", "up to 16GiB"),
        ("2KiB-1KiB", "smaller size first"),
        (",".join(map(str, range(2, 132, 2))), "65 sizes: take 64 at most"),
    ],
)
def test_other_sizes_are_refused(text, reason):
    with pytest.raises(ValueError, match=reason):
        sizes_of(text)


def test_a_burst_keeps_its_order():
    assert burst_of("2x56KiB,125x14KiB,1KiB") == ((2, 57_344), (125, 14_336), (1, 1024))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0x14KiB", "one call at least"),
        ("x14KiB", "write a size"),
        (f"{MAX_CALLS}x2,2", "4,097 calls: take 4,096 at most"),
    ],
)
def test_other_bursts_are_refused(text, reason):
    with pytest.raises(ValueError, match=reason):
        burst_of(text)


def test_a_recorded_sequence_is_told_by_its_runs_of_equal_calls():
    assert sequence_of([8, 4, 4, 8]) == ((1, 8), (2, 4), (1, 8))
    with pytest.raises(ValueError, match="4,097 calls"):
        sequence_of([2] * (MAX_CALLS + 1))
