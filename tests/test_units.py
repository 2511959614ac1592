import pytest

from tracekit.units import duration, gb_per_s, ms, ms_change, percent, size, us


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "-"),
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.00 us"),
        (46_210, "46.2 us"),
        (999_999, "1.00 ms"),
        (12_110_000, "12.1 ms"),
        (465_004_000, "465 ms"),
        (-2_500, "-2.50 us"),
        (-0.3, "0 ns"),
        (61_000_000_000, "61.0 s"),
        (4_000_000_000_000, "4,000 s"),
    ],
)
def test_duration_has_three_digits_and_the_largest_fitting_unit(ns, text):
    assert duration(ns) == text


def test_columns_carry_no_unit_and_show_a_missing_value_as_a_dash():
    assert (ms(5_871_000), us(46_249), percent(0.4846)) == ("5.87", "46.2", "48.5")
    assert (ms(None), us(None), percent(None)) == ("-", "-", "-")


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (None, "-"),
        (0, "0 B"),
        (1023, "1023 B"),
        (14_336, "14 KiB"),
        (1_638_400, "1.56 MiB"),
        (1_572_864, "1.5 MiB"),
        (104_857_600, "100 MiB"),
        (1 << 40, "1,024 GiB"),
    ],
)
def test_sizes_are_in_powers_of_1024(n_bytes, text):
    assert size(n_bytes) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0123, "0.0123"), (56.31, "56.3"), (812.4, "812"), (1234.5, "1,234"), (None, "-")],
)
def test_bandwidths_have_three_digits_and_no_exponent(value, text):
    assert gb_per_s(value) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0, "0.00"), (4_000, "0.00"), (-4_000, "0.00"), (6_000, "+0.01"), (-2e6, "-2.00")],
)
def test_a_change_has_a_sign_unless_it_rounds_to_nothing(ns, text):
    assert ms_change(ns) == text
