"""Whether two tokenizers give the same token the same id."""

from dataclasses import dataclass

from tracekit.draft_check.tokenizer import Tokenizer

_EXAMPLES = 3
_SHOWN = 24


@dataclass(frozen=True, slots=True)
class Agreement:
    """Tokens of two vocabularies beside each other."""

    n_same: int
    n_other_id: int
    n_target_only: int
    n_draft_only: int
    examples: tuple[str, ...]

    @property
    def is_full(self) -> bool:
        """Whether no token has another id or is missing in one of the two."""
        return not (self.n_other_id or self.n_target_only or self.n_draft_only)

    @property
    def n_tokens(self) -> int:
        """Tokens of either."""
        return self.n_same + self.n_other_id + self.n_target_only + self.n_draft_only

    @property
    def n_shared(self) -> int:
        """Tokens that both have, whatever their ids."""
        return self.n_same + self.n_other_id

    @property
    def words(self) -> str:
        """How many agree, in a sentence."""
        if self.is_full:
            return f"all {self.n_same:,} tokens have the same id"
        told = {
            "other id": self.n_other_id,
            "only in the target": self.n_target_only,
            "only in the draft": self.n_draft_only,
        }
        parts = [f"{n:,} {what}" for what, n in told.items() if n]
        return f"{self.n_same:,} of {self.n_tokens:,} tokens have the same id: {', '.join(parts)}"


def agreement(target: Tokenizer, draft: Tokenizer) -> Agreement | None:
    """How two tokenizers agree; None where a vocabulary is missing or not read."""
    if not (target.ids and draft.ids):
        return None
    shared = target.ids.keys() & draft.ids.keys()
    other = sorted(
        (target.ids[token], draft.ids[token], token)
        for token in shared
        if target.ids[token] != draft.ids[token]
    )
    return Agreement(
        n_same=len(shared) - len(other),
        n_other_id=len(other),
        n_target_only=len(target.ids) - len(shared),
        n_draft_only=len(draft.ids) - len(shared),
        examples=tuple(
            f"{token[:_SHOWN]!r} {of_target} and {of_draft}"
            for of_target, of_draft, token in other[:_EXAMPLES]
        ),
    )
