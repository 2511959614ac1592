"""Whose trace each file of a run is: the user's word, then the trace's own, then its name's."""

from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.errors import RunError
from tracekit.readers.file_names import NameFacts


@dataclass(frozen=True, slots=True)
class Claim:
    """What is known of the owner of a trace; `given` and `own` are ranks."""

    shown: str
    given: int | None
    own: int | None
    name: NameFacts
    dp: int | None
    has_work: bool


@dataclass(frozen=True, slots=True)
class Owner:
    """Process that wrote a trace: a rank of an engine, or the front end."""

    is_frontend: bool
    dp: int
    rank: int | None
    stage: str | None


def owners(claims: Sequence[Claim]) -> list[Owner]:
    """Owner of each trace.

    Raises RunError where a rank is missing among several, or two files have the same.
    """
    tp_size = 1 + max((c.name.rank or 0 for c in claims if c.name.pp is not None), default=0)
    found = [_owner(claim, tp_size, is_only=len(claims) == 1) for claim in claims]
    seen: dict[Owner, str] = {}
    ranked = [pair for pair in zip(claims, found, strict=True) if not pair[1].is_frontend]
    for claim, owner in ranked:
        if owner.rank is None and len(ranked) > 1:
            raise RunError(
                f"{claim.shown}: neither the trace nor its name tells its rank, and the run has "
                "several traces; let names end in rank0, rank1, ..., or give one file and --rank"
            )
        if owner in seen:
            raise RunError(
                f"{claim.shown}: rank {owner.rank} of engine {owner.dp} again, after "
                f"{seen[owner]}; give each capture a run of its own, or leave one file out"
            )
        seen[owner] = claim.shown
    return found


def _owner(claim: Claim, tp_size: int, *, is_only: bool) -> Owner:
    rank = _rank(claim, tp_size)
    # vLLM's front end writes no device events and knows no rank, whatever its file is called.
    is_frontend = claim.name.is_frontend or not (is_only or claim.has_work or rank is not None)
    dp = claim.dp if claim.dp is not None else claim.name.dp or 0
    return Owner(is_frontend, dp, None if is_frontend else rank, claim.name.stage)


def _rank(claim: Claim, tp_size: int) -> int | None:
    name = claim.name
    named = name.rank if name.rank is None else (name.pp or 0) * tp_size + name.rank
    order = (
        (claim.given, named, claim.own) if name.is_engine_rank else (claim.given, claim.own, named)
    )
    return next((rank for rank in order if rank is not None), None)
