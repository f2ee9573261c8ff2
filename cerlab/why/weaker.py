"""Queries that ask for less in one place.

A place inside NOT, or right of UNLESS, is left alone: asking for less there is asking
for more outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula, children, with_part
from cerlab.logic.cel.text import formula_text
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.clauses import Consume
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Condition, On
from cerlab.predicates.syntax import Predicate
from cerlab.predicates.text import name_text, predicate_text
from cerlab.why.failure import Path, Relax, Without


class Weaker(NamedTuple):
    """A change of a query: what it is in words, as a repair, and the query that it makes."""

    words: str
    repair: Relax | Without
    query: CeqlQuery


def weaker(query: CeqlQuery) -> Iterator[Weaker]:
    """Every query with one clause less, but for WITHIN, or one obligation less in its formula.

    >>> from cerlab.logic.ceql.parser import parse_ceql
    >>> query, _, _ = parse_ceql("SELECT LAST * WHERE A AS x : B FILTER x[v > 1]")
    >>> [each.words for each in weaker(query)]
    ['leave out SELECT LAST', 'leave out x[v > 1]', "';' for ':' before B"]
    """
    yield from _clauses(query)
    yield from _weaker_queries(query, _here)


def shorter(query: CeqlQuery) -> Iterator[Weaker]:
    """Every query with one operand less in its formula.

    >>> from cerlab.logic.ceql.parser import parse_ceql
    >>> [each.words for each in shorter(parse_ceql("SELECT * WHERE A AS x ; B : C")[0])]
    ['leave out C', 'leave out A AS x', 'leave out B']
    """
    yield from _weaker_queries(query, _without_an_operand)


def _weaker_queries(
    query: CeqlQuery, changes: Callable[[Formula], Iterator[tuple[str, Formula]]]
) -> Iterator[Weaker]:
    for path, words, into in _places(query.formula, (), changes):
        formula = with_part(query.formula, path, into)
        yield Weaker(words, Relax(path, into), replace(query, formula=formula))


def _clauses(query: CeqlQuery) -> Iterator[Weaker]:
    names = ", ".join(map(name_text, query.streams))
    strategy = "" if query.strategy is None else query.strategy.value
    for clause, words in (
        ("from", f"FROM {names}"),
        ("partition", "PARTITION BY"),
        ("strategy", f"SELECT {strategy}"),
    ):
        if (weak := without(query, clause)) != query:
            yield Weaker(f"leave out {words}", Without(clause), weak)


def without(query: CeqlQuery, clause: str) -> CeqlQuery:
    """The query without a clause: from, partition, strategy, consume or limit."""
    defaults: dict[str, dict[str, Any]] = {
        "from": {"streams": ()},
        "partition": {"partition": ()},
        "strategy": {"strategy": None},
        "consume": {"consume": Consume.NONE},
        "limit": {"limit": None},
    }
    return replace(query, **defaults[clause])


def _places(
    phi: Formula, path: Path, changes: Callable[[Formula], Iterator[tuple[str, Formula]]]
) -> Iterator[tuple[Path, str, Formula]]:
    """Each place with what may stand there instead, outermost first."""
    yield from ((path, words, into) for words, into in changes(phi))
    if isinstance(phi, cel.Not):
        return
    for n, psi in enumerate(children(phi)):
        if not (isinstance(phi, cel.Unless) and n == 1):
            yield from _places(psi, (*path, n), changes)


def _here(phi: Formula) -> Iterator[tuple[str, Formula]]:
    match phi:
        case cel.Filter(body, condition):
            for words, rest in _weaker_conditions(condition):
                yield f"leave out {words}", body if rest is None else cel.Filter(body, rest)
        case cel.Concat(left, right):
            yield f"';' for ':' before {formula_text(right)}", cel.Seq(left, right)
        case cel.And(left, right):
            yield f"ALL for AND before {formula_text(right)}", cel.All(left, right)
        case cel.Unless(left, right):
            yield f"leave out UNLESS {formula_text(right)}", left
        case cel.ConcatPlus(body):
            yield f"'+' for ':+' after {formula_text(body)}", cel.Plus(body)
        case cel.Select(strategy, body):
            yield f"leave out {strategy.value}(..)", body
        case cel.Atom(name, stream) if stream is not None:
            yield f"leave out {name_text(stream)}> before {name_text(name)}", cel.Atom(name)
        case _:
            return


def _without_an_operand(phi: Formula) -> Iterator[tuple[str, Formula]]:
    """One operand alone; operands that are such a formula have places of their own."""
    if not isinstance(phi, cel.Seq | cel.Concat | cel.All):
        return
    for operand, rest in ((phi.left, phi.right), (phi.right, phi.left)):
        if not isinstance(operand, cel.Seq | cel.Concat | cel.All):
            yield f"leave out {formula_text(operand)}", rest


def _weaker_conditions(condition: Condition) -> Iterator[tuple[str, Condition | None]]:
    """The condition without one of those that it is the conjunction of; None is no condition."""
    match condition:
        case pred.And(left, right):
            for text, rest in _weaker_conditions(left):
                yield text, right if rest is None else pred.And(rest, right)
            for text, rest in _weaker_conditions(right):
                yield text, left if rest is None else pred.And(left, rest)
        case On(label, predicate):
            for part, left_over in _conjuncts(predicate):
                text = predicate_text(On(label, part))
                yield text, None if left_over is None else On(label, left_over)
        case _:
            yield predicate_text(condition), None


def _conjuncts(predicate: Predicate) -> Iterator[tuple[Predicate, Predicate | None]]:
    """Each part of a conjunction, and what is left without it."""
    if not isinstance(predicate, pred.And):
        yield predicate, None
        return
    left, right = predicate.left, predicate.right
    for part, rest in _conjuncts(left):
        yield part, right if rest is None else pred.And(rest, right)
    for part, rest in _conjuncts(right):
        yield part, left if rest is None else pred.And(left, rest)
