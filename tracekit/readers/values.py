"""Values of somebody else's JSON and tables, as far as columns hold them."""


def text(value: object) -> str | None:
    """`value` where it is a text with something in it; half a surrogate pair is escaped."""
    if not isinstance(value, str) or not value:
        return None
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def count(value: object) -> int | None:
    """`value` as a number from 1 that a column of type INTEGER holds; a text of digits will do."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 11:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 < value < 2**31 else None


def integer(value: object, limit: int) -> int | None:
    """`value` where it is an integer from 0 below `limit`."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < limit else None
