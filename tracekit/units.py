"""Nanoseconds and bytes to text: the only place where a time, share or size is made readable.

Numbers are rounded here and nowhere else; a missing value (None) is shown as `-`.
"""

MISSING = "-"
_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"))
_SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def ms(ns: float | None, digits: int = 2) -> str:
    """Milliseconds without the unit, for a column headed `ms`."""
    return MISSING if ns is None else f"{_rounded(ns / 1e6, digits):,.{digits}f}"


def ms_change(ns: float) -> str:
    """Milliseconds with the sign of a change; none where it rounds to zero."""
    text = ms(ns)
    return f"+{text}" if ns > 0 and text != ms(0) else text


def us(ns: float | None, digits: int = 1) -> str:
    """Microseconds without the unit, for a column headed `us`."""
    return MISSING if ns is None else f"{_rounded(ns / 1e3, digits):,.{digits}f}"


def percent(ratio: float | None, digits: int = 1) -> str:
    """Per cent without the sign, of a ratio where 1 is the whole."""
    return MISSING if ratio is None else f"{_rounded(ratio * 100, digits):.{digits}f}"


def duration(ns: float | None) -> str:
    """Three significant digits with the largest fitting unit: `46.2 us`, `12.1 ms`, `465 ms`."""
    if ns is None:
        return MISSING
    for size, unit in _UNITS:
        # Rounding comes first: 999,999 ns is 1.00 ms, not 1000 us.
        if abs(ns) >= size * 0.9995:
            return f"{_three_digits(ns / size)} {unit}"
    return f"{_rounded(ns, 0):.0f} ns"


def size(n_bytes: float | None) -> str:
    """Three significant digits in powers of 1024, as messages are: `14 KiB`, `1.5 MiB`, `999 B`."""
    if n_bytes is None:
        return MISSING
    for unit_bytes, unit in _SIZES:
        if n_bytes >= unit_bytes:
            digits = _three_digits(n_bytes / unit_bytes)
            return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits} {unit}"
    return f"{n_bytes:.0f} B"


def gb_per_s(value: float | None) -> str:
    """Three significant digits without the unit, for a column headed `GB/s`; GB = 1e9 bytes."""
    if value is None:
        return MISSING
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def _rounded(value: float, digits: int) -> float:
    return round(value, digits) + 0.0  # no "-0.0"


def _three_digits(value: float) -> str:
    decimals = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:,.{decimals}f}"
