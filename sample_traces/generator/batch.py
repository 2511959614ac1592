"""What a step of the engine works on, and how vLLM's versions write it down."""

from __future__ import annotations

from dataclasses import dataclass, field

from generator.rank import Step

SURVIVAL = (0.87, 0.68, 0.47, 0.33, 0.22)
"""Share of drafts whose token at position 0, 1, ... is accepted."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Requests of one step; `drafts` are draft tokens checked, over all decode requests."""

    decode_reqs: int = 1
    drafts: int = 0
    prefill_reqs: int = 0
    prefill_tokens: int = 0
    context: int = 2048

    @property
    def decode_tokens(self) -> int:
        """Tokens scheduled for the decode requests."""
        return self.decode_reqs + self.drafts

    @property
    def tokens(self) -> int:
        """Tokens of the forward pass."""
        return self.decode_tokens + self.prefill_tokens

    @property
    def kind(self) -> str:
        """Kind of the step."""
        if not self.tokens:
            return "idle"
        if not self.prefill_reqs:
            return "decode"
        return "mixed" if self.decode_reqs else "prefill"


def annotation(batch: Batch, form: str) -> str | None:
    """The step's annotation in one of vLLM's forms; None where it wrote none."""
    c, ct, g, gt = batch.prefill_reqs, batch.prefill_tokens, batch.decode_reqs, batch.decode_tokens
    if form == "context":
        return f"execute_context_{c}({ct})_generation_{g}({gt})"
    if form == "new_cached":
        return f"execute_new_{c}_cached_{g}"
    if form == "detailed":
        per = gt // g if g else 0
        context = _squares(ct, ct, ct * ct // max(c, 1), ct * ct // max(c, 1))
        decode = _squares(gt, g * batch.context, gt * per, gt * batch.context)
        return f"execute_{batch.tokens}_context_{c}({context})_generation_{g}({decode})"
    return None


def _squares(sq: int, sk: int, sqsq: int, sqsk: int) -> str:
    return f"sq{sq}sk{sk}sqsq{sqsq}sqsk{sqsk}"


def step_of(batch: Batch, form: str) -> Step:
    """Truth of the step as its annotation tells it."""
    has_counts, has_tokens = form != "none", form in ("context", "detailed")
    return Step(
        kind=batch.kind if has_counts else "unknown",
        n_prefill_reqs=batch.prefill_reqs if has_counts else None,
        n_prefill_tokens=batch.prefill_tokens if has_tokens else None,
        n_decode_reqs=batch.decode_reqs if has_counts else None,
        n_decode_tokens=batch.decode_tokens if has_tokens else None,
        is_verify=batch.drafts > 0,
        n_draft_tokens=batch.drafts if has_tokens or not batch.drafts else None,
        is_empty=not batch.tokens,
    )


@dataclass(slots=True)
class Acceptance:
    """Which drafts the target accepts: survival by position, evenly spread over the steps."""

    num_tokens: int
    survival: tuple[float, ...] = SURVIVAL
    drafts: int = 0
    draft_tokens: int = 0
    accepted: list[int] = field(default_factory=list)
    _phase: float = 0.55

    def __post_init__(self) -> None:
        self.accepted = [0] * self.num_tokens

    def check(self, lengths: list[int]) -> None:
        """Check one draft of each length."""
        for length in lengths:
            self._phase = (self._phase + 0.6180339887498949) % 1.0
            n = sum(self._phase < survival for survival in self.survival[:length])
            self.drafts += 1
            self.draft_tokens += length
            for position in range(n):
                self.accepted[position] += 1
