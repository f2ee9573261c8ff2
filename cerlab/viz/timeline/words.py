"""A timeline in words: how many of its events and answers are shown, and what each row lacks."""

from __future__ import annotations

from collections.abc import Iterable

from cerlab.model.answer import ComplexEvent
from cerlab.predicates.words import answer_text, count_text, number_text
from cerlab.viz.timeline.value import Drawing, Row, differs


def row_text(T: Drawing, number: int) -> str:
    """``5 answers, lacks 1``: what it lacks is counted among the answers that were compared."""
    row = T.rows[number]
    parts = [_total(row)]
    if len(T.rows) > 1:
        lacks = T.distinct - T.row_counts[number]
        parts += [f"lacks {number_text(lacks)}"] if lacks else []
    return ", ".join(parts)


def _total(row: Row) -> str:
    if row.total is not None:
        return count_text(row.total, "answer")
    return f"over {count_text(len(row.answers), 'answer')}"


def comparison(T: Drawing) -> str:
    """Whether the rows agree, in a sentence; empty for one row."""
    if len(T.rows) < 2:
        return ""
    ends = [row.complete_before for row in T.rows if row.complete_before is not None]
    until = f" that end before position {min(ends):,}" if ends else ""
    if T.distinct == T.common:
        return f"All rows have the same {count_text(T.distinct, 'answer')}{until}."
    differing = number_text(T.distinct - T.common)
    return f"Not in every row: {differing} of {count_text(T.distinct, 'answer')}{until}."


def extent(T: Drawing) -> str:
    """How much of the stream and of the answers is shown, if it is not all.

    ``events 0-79 of 224,473; 12 of 345,816 answers``.
    """
    parts = []
    if len(T.ticks) < T.length:
        parts.append(_events(T))
    total = T.distinct if len(T.rows) > 1 else T.rows[0].total if T.rows else 0
    if total is None:
        parts.append(f"{len(T.bars)} of over {count_text(T.distinct, 'answer')}")
    elif len(T.bars) < total:
        parts.append(f"{len(T.bars)} of {count_text(total, 'answer')}")
    positions = {tick.position for tick in T.ticks}
    if any(p not in positions for bar in T.bars for p in bar.answer.positions):
        parts.append("positions in the gaps are not drawn")
    return "; ".join(parts)


def _events(T: Drawing) -> str:
    first, last = T.ticks[0].position, T.ticks[-1].position
    if last - first + 1 == len(T.ticks):
        return f"events {first:,}-{last:,} of {T.length:,}"
    return f"{len(T.ticks)} of {T.length:,} events"


def description(T: Drawing) -> str:
    """All of it for who does not see the picture: rows, their answers, and the differences."""
    lines = [f"{count_text(T.length, 'event')}, {count_text(len(T.rows), 'row')} of answers."]
    lines += [f"{row.name}: {row_text(T, n)}." for n, row in enumerate(T.rows)]
    lines += [_bar(T, bar.answer, bar.rows) for bar in T.bars if differs(T, bar)]
    lines += filter(None, [comparison(T), extent(T)])
    return " ".join(lines)


def _bar(T: Drawing, answer: ComplexEvent, rows: Iterable[int]) -> str:
    names = ", ".join(T.rows[n].name for n in sorted(rows))
    return f"{answer_text(answer)} only in {names}."
