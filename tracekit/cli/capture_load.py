"""The load options of `tracekit capture`, and the load they make."""

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from tracekit.cli.options import Command

if TYPE_CHECKING:
    from tracekit.collectors.load.protocol import Load

POSITIVE = click.IntRange(min=1)

_OPTIONS = (
    click.option(
        "--input-len",
        type=POSITIVE,
        default=128,
        show_default=True,
        metavar="N",
        help="Tokens of each prompt that is made up.",
    ),
    click.option(
        "--output-len",
        type=POSITIVE,
        metavar="N",
        help="Tokens that a request generates [default: --steps].",
    ),
    click.option(
        "--requests",
        type=POSITIVE,
        metavar="N",
        help="Requests in a window [default: --concurrency].",
    ),
    click.option(
        "--prompts", metavar="FILE", help="Prompts to send instead: one per line, or JSONL."
    ),
    click.option(
        "--api",
        type=click.Choice(["completions", "chat"]),
        default="completions",
        show_default=True,
        help="OpenAI API to speak.",
    ),
    click.option(
        "--seed",
        type=int,
        default=0,
        show_default=True,
        metavar="N",
        help="Seed of prompts that are made up.",
    ),
    click.option(
        "--load",
        metavar="COMMAND",
        help="Command to run in each window as the load, such as 'vllm bench serve ...'; "
        "{url}, {model} and {concurrency} in it are replaced.",
    ),
)


def add_options(command: Command) -> Command:
    """The command with the options of the load."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def load_of(asked: SimpleNamespace) -> "Load":
    """The load that the options make.

    Raises:
        CaptureError: a file or command that makes none.
    """
    from tracekit.collectors.load.command import load_command
    from tracekit.collectors.load.openai import OpenAILoad
    from tracekit.collectors.load.prompts import SyntheticPrompts, read_prompts

    if asked.load is not None:
        return load_command(asked.load)
    prompts = (
        SyntheticPrompts(asked.input_len, asked.seed, asked.api)
        if asked.prompts is None
        else read_prompts(Path(asked.prompts), asked.api)
    )
    return OpenAILoad(prompts, asked.output_len or asked.steps, asked.requests)
