"""Explanations of why some positions are an answer of a query, or why they are not.

Weighted deduction (`deduction`) evaluates a semantics from given positions, and lets parts fail at
a cost: `cel`, `focel` and `sremo` are its clause tables, with one arm for each row of the paper.
`failure` has a row for each way to fail, with its words, repairs and cost. `question` holds the
question, and `candidates` the region to search and the nearest candidate, for queries and
expressions. `clauses` checks the clauses that act after the formula; `confirm` compares the result
with the automata, which share no code with the deduction. `none` explains why there is no answer at
all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import index
from typing import Any, TypeAlias, Unpack

from cerlab import display, io
from cerlab.compile.pattern import AnyQueryInput, Logic, SremoPattern, any_pattern
from cerlab.display import Drawable, tree_lines
from cerlab.errors import UsageError, lists_options, printable
from cerlab.logic.cel.syntax import Atom, Formula, Not
from cerlab.logic.cel.text import node_text, window_text
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.parser import node_text as expression_node_text
from cerlab.model.answer import ComplexEvent, Positions, Valuation
from cerlab.model.event import Event
from cerlab.predicates.text import event_text, name_text, positions_text
from cerlab.why.candidates import FARTHEST, nearest
from cerlab.why.clauses import confirm, match
from cerlab.why.deduction import CelDerivation, Derivation, Reading, SremoDerivation
from cerlab.why.failure import (
    FAR,
    HEAVY,
    Failure,
    Kind,
    Relax,
    Remark,
    Repair,
    Widen,
    part_text,
)
from cerlab.why.none import WhyNone
from cerlab.why.question import AnyQuestion, Question, SremoQuestion, out_of_stream
from cerlab.why.repairs import right_repairs

AnyDerivation: TypeAlias = Derivation[Any, Any]

__all__ = [
    "Derivation",
    "Failure",
    "Kind",
    "Reading",
    "Repair",
    "SremoDerivation",
    "Why",
    "explain",
    "why",
    "why_text",
    "why_to_json",
]


@lists_options(io.HowToRead)
def why(
    query: AnyQueryInput,
    events: Any,
    positions: Iterable[int],
    start: int | None = None,
    end: int | None = None,
    *,
    logic: Logic = "so",
    **how: Unpack[io.HowToRead],
) -> Why:
    """Explain why the positions are an answer on a stream, or what prevents it.

    The result never contradicts `cerlab.evaluate`.

    Args:
        query: A query, formula or SREMO.
        events: Anything that `cerlab.evaluate` accepts.
        positions: The positions of the events.
        start, end: The interval of the answer (default: any interval).
        logic: The meaning of variables: sets of events (``"so"``), or one event each (``"fo"``).
        type, type_column, time, unit, until, sort: How to read the events, as in `cerlab.evaluate`.

    Raises:
        UsageError: There are no positions and no interval.
        ResourceLimit: There are too many partial derivations.

    >>> events = [{"type": "A", "v": 1}, {"type": "C"}, {"type": "B", "v": 0}]
    >>> why("A ; B", events, [0, 2]).holds
    True
    >>> print(why("A ; B FILTER B[v > 0]", events, [0, 2]).failure)
    B at 2 fails v > 0: v is 0
    >>> print(why("<type = 'A'>^ -> r . <TRUE>* . <v > r.v>^", events, [0, 2]).failure)
    event 2 fails v > r.v: v is 0, r is event 0 with v 1
    """
    stream, marks = io.as_stream(events, **how), tuple(sorted({_whole(p) for p in positions}))
    start, end = (None if p is None else _whole(p) for p in (start, end))
    pattern = any_pattern(query, logic=logic)
    if isinstance(pattern, SremoPattern):
        return explain(SremoQuestion(pattern.ast, stream, marks, start, end))
    first_order = pattern.logic == "fo"
    return explain(Question(pattern.ast, stream, marks, start, end, first_order=first_order))


def _whole(position: int) -> int:
    try:
        return index(position)
    except TypeError:
        raise UsageError(
            "CER0836",
            f"expected whole numbers as positions, got {position!r}",
            hint="positions count from 0",
        ) from None


@dataclass(frozen=True, slots=True, repr=False)
class Why(Drawable):
    """An explanation of why positions are an answer of a query, or why they are not.

    For a match, `derivation` proves it by the semantics. Otherwise it is the attempt with the
    cheapest repairs, and `failures` lists its unmet obligations, those of clauses first and then in
    the order of the formula; it is None if the positions are outside the stream or far from any
    match. `searched` is the interval of the stream that was searched, and `events` has the events
    at the positions that the derivation names.
    """

    holds: bool
    positions: Positions
    derivation: Derivation[Any, Any] | None
    failures: tuple[Failure, ...]
    searched: tuple[int, int] | None
    events: Mapping[int, Event]
    question: AnyQuestion | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        """Return the verdict; `str` adds the derivation."""
        return f"<Why, {next(verdict_lines(self))}>"

    @property
    def failure(self) -> Failure | None:
        """The first failure, or None if the positions are an answer."""
        return self.failures[0] if self.failures else None

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """The repairs that each make the positions an answer.

        Each repair has been tried. A repair that needs another event, or one more, is listed only
        if a short search finds such an event.
        """
        return () if self.question is None else right_repairs(self.question, self.failures)


def explain(question: AnyQuestion) -> Why:
    """Return why the positions are an answer on the stream, or why not.

    A SREMO is matched at the last mark, with exactly these marks. Raises as `cerlab.evaluate` with
    the reference, except for long streams.
    """
    question.check()
    if failures := out_of_stream(question.anchors, question.stream):
        return Why(False, question.positions, None, failures, None, {})
    found = match(question)
    confirm(question, found)
    best, region = found or nearest(question)
    if best is None:
        failures = (FAR.failure(most=FARTHEST // HEAVY),)
        return Why(False, question.positions, None, failures, None, {})
    derivation = best.derivation
    if isinstance(question, Question):
        derivation = _in_whole_stream(derivation, best.at)
    positions = {*question.positions}.union(*(_positions(n.valuation) for n in derivation))
    events = {p: question.stream[p] for p in sorted(positions)}
    failures = best.failures
    return Why(not failures, question.positions, derivation, failures, region, events, question)


def _in_whole_stream(d: AnyDerivation, at: Sequence[int]) -> AnyDerivation:
    """Return a derivation with positions of the whole stream in place of its substream's."""
    V = d.valuation
    if isinstance(V, Valuation):
        labels = {X: tuple(at[i] for i in D) for X, D in V.labels.items()}
        V = Valuation(at[V.start], at[V.end], labels)
    return replace(
        d, valuation=V, children=tuple(_in_whole_stream(child, at) for child in d.children)
    )


def _positions(value: Valuation | Reading | None) -> Iterator[int]:
    """Yield the positions in the value of a derivation's node."""
    match value:
        case Valuation(start, end, labels):
            yield from (start, end)
            yield from (p for D in labels.values() for p in D)
        case Reading(_, _, marks, registers):
            yield from (*value.ends, *marks)
            yield from (p for _, p in registers if p is not None)


def why_text(why: Why) -> str:
    """Return the verdict, the failures, and the derivation as a tree of lines."""
    lines = list(verdict_lines(why))
    if why.derivation is not None:
        lines.append(derivation_text(why.derivation, why.events))
    return printable("\n".join(lines))


def verdict_lines(why: Why) -> Iterator[str]:
    """Yield the verdict, the failures, and the interval that was searched, one line each."""
    positions = positions_text(why.positions)
    if why.holds:
        assert why.derivation is not None
        start, end = why.derivation.interval
        yield f"a match: {positions} in [{start}, {end}]"
        return
    yield f"no match: {positions}"
    for failure in why.failures:
        yield f"  {failure.words}"
    if why.searched is not None:
        yield f"searched from {why.searched[0]} to {why.searched[1]}; the nearest attempt:"


def derivation_text(
    root: CelDerivation | SremoDerivation, events: Mapping[int, Event] | None = None
) -> str:
    """Return a derivation as text, a tree with operator, interval and labels at each node.

    Parts that match one event show it, if `events` has its position.
    """

    def line(node: CelDerivation | SremoDerivation) -> str:
        failing = any(failure.path == node.path for failure in node.failures)
        words = f"{_part(node)} {_value_text(node, events or {})}".rstrip()
        return f"{words} ✗" if failing else words

    return printable(tree_lines(root, line, lambda node: node.children))


def _part(node: CelDerivation | SremoDerivation) -> str:
    """Return the operator of a node as text; for a SREMO node without children, the expression."""
    if isinstance(node.part, Formula):
        return node_text(node.part)
    return expression_node_text(node.part) if node.children else part_text(node.part)


def _value_text(node: CelDerivation | SremoDerivation, events: Mapping[int, Event]) -> str:
    """Return a node's value as text, such as ``[0, 2]  A {0}  B {2}``, or an atom's event."""
    value = node.valuation
    if value is None or (isinstance(value, Reading) and value.end == value.start):
        return "no event"
    i = value.start
    if isinstance(node.part, Atom | Not | sre.Terminal):
        return f"{i}: {event_text(events[i], None)}" if i in events else f"{i}"
    if isinstance(value, Reading):
        words = [f"[{i}, {value.end - 1}]"]
        words += [f"^ {positions_text(value.marks)}"] if value.marks else []
        words += [f"{name_text(r)} = {'?' if p is None else p}" for r, p in value.registers]
        return "  ".join(words)
    labels = [f"{name_text(X)} {positions_text(D)}" for X, D in value.labels.items()]
    until = [f"until {node.until}"] if node.until is not None else []
    return "  ".join([f"[{i}, {value.end}]", *labels, *until])


display.register(Why, "text/plain", why_text)


display.register(Derivation, "text/plain", derivation_text)


def why_to_json(why: Why) -> dict[str, Any]:
    """Return the whole explanation as JSON."""
    return {
        "holds": why.holds,
        "positions": list(why.positions),
        "searched": None if why.searched is None else list(why.searched),
        "failures": [failure_to_json(failure) for failure in why.failures],
        "repairs": [repair_to_json(repair) for repair in why.repairs],
        "derivation": None if why.derivation is None else derivation_to_json(why.derivation),
    }


def why_none_to_json(why: WhyNone) -> dict[str, Any]:
    """Return the explanation of a query without answers as JSON."""
    return {
        "events": why.events,
        "answer": None if why.answer is None else _answer(why.answer),
        "absent": [{"kind": each.kind, "name": each.name} for each in why.absent],
        "changes": [
            {
                "words": change.words,
                "repair": repair_to_json(change.repair),
                "answer": _answer(change.answer),
            }
            for change in why.changes
        ],
        "untried": [{"words": words, "reason": reason} for words, reason in why.untried],
    }


def failure_to_json(failure: Failure) -> dict[str, Any]:
    """Return a failure of `why` as JSON."""
    return {
        "kind": failure.kind.value,
        "words": failure.words,
        "part": failure.part,
        "path": list(failure.path),
        "positions": list(failure.positions),
        "repairs": [repair_to_json(repair) for repair in failure.repairs],
        "rival": None if failure.rival is None else _answer(failure.rival),
    }


def repair_to_json(repair: Repair) -> dict[str, Any]:
    """Return a repair as JSON: its name, under ``do``, and its fields."""
    match repair:
        case Relax(path, into) | Remark(path, into):
            parts: dict[str, Any] = {"path": list(path), "into": str(into)}
        case Widen(window):
            parts = {"window": window_text(window)}
        case _:
            parts = {field.name: getattr(repair, field.name) for field in fields(repair)}
            parts = {name: list(v) if isinstance(v, tuple) else v for name, v in parts.items()}
    return {"do": type(repair).__name__.lower(), **parts}


def derivation_to_json(node: CelDerivation | SremoDerivation) -> dict[str, Any]:
    """Return a derivation tree as JSON."""
    return {
        "part": str(node.part),
        "path": list(node.path),
        **_value_to_json(node.valuation),
        **({} if node.until is None else {"until": node.until}),
        "children": [derivation_to_json(child) for child in node.children],
    }


def _value_to_json(value: Valuation | Reading | None) -> dict[str, Any]:
    if isinstance(value, Reading):
        there = value.end > value.start
        start, end = (value.start, value.end - 1) if there else (None, None)
        marks, registers = list(value.marks), dict(value.registers)
        return {"start": start, "end": end, "marks": marks, "registers": registers}
    if value is None:
        return {"start": None, "end": None, "labels": {}}
    labels = {X: list(D) for X, D in value.labels.items()}
    return {"start": value.start, "end": value.end, "labels": labels}


def _answer(answer: ComplexEvent) -> dict[str, Any]:
    return {"start": answer.start, "end": answer.end, "positions": list(answer.positions)}
