"""Rows of what was read, and which of them stand although their line may be cut or joined.

Facts come many times in these logs: by each rank, each channel, at the start and the end.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.readers.rows import Value

Row = dict[str, Value]

PLACE = ("at_byte", "logged_ns", "channel", "connection")
"""Columns that say where a fact was said, not what and by whom."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A row; `is_doubtful` where its line may end in the tail of another process's."""

    row: Row
    is_doubtful: bool


NEVER = 1 << 30
"""More lines than say the same."""


def standing(facts: Sequence[Fact], of: Sequence[str], word: str, *, least: int) -> list[Row]:
    """Rows that stand: said `least` times where in doubt, and `word`, their last one, not cut.

    A word is taken for cut where a longer one begins with it, of the same columns `of`, that was
    said as often.
    """
    said = Counter(content_of(fact.row) for fact in facts)
    sure = {content_of(fact.row) for fact in facts if not fact.is_doubtful}
    sure |= {content for content, n in said.items() if n >= least}
    firm = [fact.row for fact in facts if content_of(fact.row) in sure]
    cut = {key: _cut(words) for key, words in _words(firm, of, word).items()}
    return [row for row in firm if str(row[word]) not in cut[_of(row, of)]]


def content_of(row: Row) -> tuple[Value, ...]:
    """What a row says, without where."""
    return tuple(value for name, value in row.items() if name not in PLACE)


def _of(row: Row, names: Sequence[str]) -> tuple[Value, ...]:
    return tuple(row[name] for name in names)


def _words(rows: Sequence[Row], of: Sequence[str], word: str) -> dict[object, Counter[str]]:
    words: dict[object, Counter[str]] = defaultdict(Counter)
    for row in rows:
        words[_of(row, of)][str(row[word])] += 1
    return words


def _cut(words: Counter[str]) -> set[str]:
    """Words that a longer one, said as often, begins with: it sorts right behind them."""
    cut: set[str] = set()
    heads: list[str] = []
    for word in sorted(words):
        while heads and not word.startswith(heads[-1]):
            heads.pop()
        cut.update(head for head in heads if words[head] <= words[word])
        heads.append(word)
    return cut
