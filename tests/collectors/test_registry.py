"""The engines, as the command line and the command itself name them."""

import click

from tracekit.cli import capture
from tracekit.collectors.engines.registry import NAMES


def test_every_engine_can_be_named():
    (option,) = (option for option in capture.command.params if option.name == "engine")
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == NAMES
