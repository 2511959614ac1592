"""Two runs: which of them is the base, and whether they tell if drafts pay."""

from types import SimpleNamespace


def is_question(run: SimpleNamespace, other: SimpleNamespace) -> bool:
    """Whether the two rows of `run_list` tell if drafts pay: one of them drafts."""
    return bool(run.speculative_method) != bool(other.speculative_method)


def ordered(run: SimpleNamespace, other: SimpleNamespace) -> tuple[str, str]:
    """Names, the base first: the one without drafts, else the run that is looked at."""
    is_turned = is_question(run, other) and run.speculative_method
    return (other.run, run.run) if is_turned else (run.run, other.run)
