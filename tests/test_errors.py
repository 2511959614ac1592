import pytest

from tracekit import errors
from tracekit.errors import GateError, TracekitError

SUBCLASSES = [
    cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, TracekitError)
]


@pytest.mark.parametrize("error", SUBCLASSES)
def test_every_error_has_its_exit_code_and_stands_in_the_tree(error):
    assert error.exit_code == (3 if error is GateError else 1)
    assert f"{error.__name__}\n" in errors.__doc__ or f"{error.__name__}  " in errors.__doc__


def test_a_hostile_name_stays_on_one_line_and_cannot_drive_the_terminal():
    message = str(TracekitError("a\nb\x1b[2J\udc80é.json: no event"))
    assert message == r"a\nb\x1b[2J\udc80é.json: no event"
