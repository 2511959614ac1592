"""What run.json says of a run besides its windows."""

from collections.abc import Mapping, Sequence

from tracekit.collectors.engine import Launch, ServerFacts
from tracekit.collectors.secrets import Known, redacted_arguments, redacted_environment
from tracekit.readers.serve_command import Setup, setup_of_command


def of_command(
    engine: str,
    command: Sequence[str],
    launch: Launch,
    environment: Mapping[str, str],
    known: Known,
) -> dict[str, object]:
    """What the user's `command` says, how it is started, and the environment it gets."""
    setup = setup_of_command(command)
    drafting = {
        "method": setup.speculative_method,
        "num_speculative_tokens": setup.num_speculative_tokens,
    }
    return {
        "engine": {"name": engine},
        "model": setup.model,
        "tensor_parallel": setup.tensor_parallel or _default_width(setup, launch),
        "speculative": drafting if setup.speculative_method else None,
        "command": redacted_arguments(launch.command, known),
        "environment": redacted_environment(environment, known),
    }


def of_server(engine: str, facts: ServerFacts) -> dict[str, object]:
    """What a running server tells of itself."""
    told: dict[str, object] = {
        "engine": {"name": engine, "version": facts.version},
        "served_model": facts.served_model,
        "server_args": facts.server_args,
    }
    if facts.model:
        told["model"] = facts.model
    return told


def _default_width(setup: Setup, launch: Launch) -> int | None:
    """A server is one wide where its whole command says nothing else."""
    return 1 if setup.engine and launch.n_ranks is not None else None
