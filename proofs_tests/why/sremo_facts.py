"""Checks of each statement in a failure of a SREMO, against the events and the reference."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from cerlab import Sremo, Why, satisfies
from cerlab.logic.sremo import derivations
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import reads
from cerlab.model.event import value_of
from cerlab.predicates.text import value_text
from cerlab.why import Derivation, Failure, Kind, SremoDerivation
from cerlab.why.deduction import Contents
from proofs_tests.why.sremo_checker import paths, registers
from proofs_tests.why.sremo_mutations import Question


def nodes_with_registers(
    node: SremoDerivation, v: Contents = ()
) -> Iterator[tuple[SremoDerivation, Contents]]:
    """All nodes, each with what the registers held before it."""
    yield node, v
    for child in node.children:
        yield from nodes_with_registers(child, v)
        if not isinstance(node.part, sre.Intersection):
            v = child.valuation.registers


def is_known(e: Sremo, v: Contents) -> bool:
    """Whether it is known what all registers that an expression reads hold."""
    return all(p is not None or r not in reads(e) for r, p in v)


def is_true(q: Question, why: Why, failure: Failure) -> bool:
    """Whether the stream, the expression and the derivation are as the failure says."""
    root: Any = why.derivation
    if failure.kind is Kind.POSITION:
        (p,) = failure.positions
        return not 0 <= p < len(q.stream)
    assert isinstance(root, Derivation)
    part = dict(paths(q.e))[failure.path]
    here = [(node, v) for node, v in nodes_with_registers(root) if node.path == failure.path]
    match failure.kind:
        case Kind.GUARD:
            return _guard_fails(q, failure, part, here, root)
        case Kind.EMPTY:
            return isinstance(part, sre.Empty)
        case Kind.NEGATION:
            return _is_there(q, failure, part, root)
        case Kind.GAP:
            first, last = failure.positions
            n = last - first - 1
            pairs = [pair for node in root for pair in pairwise(node.children)]
            apart = any((a.valuation.end - 1, b.valuation.start) == (first, last) for a, b in pairs)
            return n > 0 and apart and f"gap of {n} event" in failure.words
        case Kind.MISSING:
            return _is_missing(q, failure, part, root)
        case Kind.UNMARKED:
            (p,) = failure.positions
            return p not in q.positions and isinstance(part, sre.Terminal) and part.marked
        case Kind.LEFTOVER:
            (p,) = failure.positions
            return p in q.positions and p not in root.valuation.marks
        case Kind.AND:
            return _lacks(q, part, here)
        case Kind.WINDOW:
            return _too_wide(q, failure, part, here)
        case _:
            return False


def _guard_fails(
    q: Question,
    failure: Failure,
    part: Sremo,
    here: list[tuple[SremoDerivation, Contents]],
    root: SremoDerivation,
) -> bool:
    (p,) = failure.positions
    assert isinstance(part, sre.Terminal)
    entries = [v for node, v in here if _takes(node, p)]
    entries += [  # an iteration that leaves no trace is one node
        v
        for node, v in nodes_with_registers(root)
        if node.path == failure.path[:-1]
        and not node.children
        and node.valuation.start <= p < node.valuation.end
    ]
    return any(
        not is_known(part, v)
        or (
            not satisfies(q.stream[p], part.guard, registers(v, q.stream.events))
            and _values_are_right(q, p, failure.words, v)
        )
        for v in entries
    )


def _takes(node: SremoDerivation, p: int) -> bool:
    return node.valuation.start <= p < node.valuation.end


def _values_are_right(q: Question, p: int, words: str, v: Contents) -> bool:
    """Every ``v is 3``, ``r is event 2 with v 3``, ``r is empty`` of a sentence."""
    for name, value in re.findall(r"\b([vwt]|type) is ((?:'[^']*'|[^,' ])+)", words):
        real = value_text(value_of(q.stream[p], name))
        if value != (real if name in q.stream[p].attributes or name == "type" else "missing"):
            return False
    for r, position, rest in re.findall(r"\b([rs]) is event (\d+) with ([^,]*)", words):
        if dict(v).get(r) != int(position):
            return False
        t = q.stream[int(position)]
        for name, value in re.findall(r"\b([vwt]) (\S+)", rest.partition(" and ")[0]):
            real = value_text(value_of(t, name)) if name in t.attributes else "missing"
            if value != real:
                return False
    return all(r not in dict(v) for r in re.findall(r"\b([rs]) is empty", words))


def _is_there(q: Question, failure: Failure, part: Sremo, root: SremoDerivation) -> bool:
    """Check that a negated or skipped part has an instance there."""
    rival, S = failure.rival, q.stream.events
    for node, v in nodes_with_registers(root):
        if node.path != failure.path:
            continue
        if isinstance(part, sre.Negation):
            ends = {d.end for d in derivations(part.body, S, node.valuation.start, registers(v, S))}
            inside = rival is None or (node.valuation.start, node.valuation.end) == (
                rival.start,
                rival.end + 1,
            )
            if inside and node.valuation.end in ends:
                return True
        for a, b in pairwise(node.children):
            contents = registers(a.valuation.registers, S)
            start = a.valuation.end if rival is None else rival.start
            if rival is None:
                instances = {d.end for d in derivations(b.part, S, start, contents)}
                if start in instances:
                    return True
                continue
            instances = {d.end for d in derivations(b.part, S, start, contents)}
            if (
                a.valuation.end <= rival.start
                and rival.end < b.valuation.start
                and rival.end + 1 in instances
            ):
                return True
    return False


def _is_missing(q: Question, failure: Failure, part: Sremo, root: SremoDerivation) -> bool:
    """No event that would do stands between, as far as that can be told of it alone."""
    assert isinstance(part, sre.Terminal)
    none = any(
        node.valuation.start == node.valuation.end
        and node.path in (failure.path, failure.path[:-1])
        for node in root
    )
    between = re.search(r"no event is there for .* after (\d+) and before (\d+)$", failure.words)
    if between is None or reads(part):
        return none
    after, before = map(int, between.groups())
    free = [
        p
        for p in range(after + 1, before)
        if satisfies(q.stream[p], part.guard, {}) and part.marked == (p in q.positions)
    ]
    return none and not free


def _lacks(q: Question, part: Sremo, here: list[tuple[SremoDerivation, Contents]]) -> bool:
    """One side takes what the other side does not."""
    assert isinstance(part, sre.Intersection)
    for node, v in here:
        if len(node.children) == 1:
            (has,) = node.children
            other = part.right if has.path[-1] == 0 else part.left
            every = derivations(
                other, q.stream.events, node.valuation.start, registers(v, q.stream.events)
            )
            there = any(
                (d.end, d.marks) == (node.valuation.end, frozenset(node.valuation.marks))
                for d in every
            )
            if not there or not is_known(other, v):
                return True
    return False


def _too_wide(
    q: Question, failure: Failure, part: Sremo, here: list[tuple[SremoDerivation, Contents]]
) -> bool:
    first, last = failure.positions[0], failure.positions[-1]
    for node, _ in here:
        reading = node.valuation
        more: float
        match part:
            case sre.SpanWindow(_, w) if (first, last) == (
                reading.marks[0],
                reading.marks[-1],
            ):
                more = last - first + 1 - w
            case sre.LengthWindow(_, w) if (first, last) == (
                reading.start,
                reading.end - 1,
            ):
                more = reading.end - reading.start - w
            case sre.Within(_, n, name) if (first, last) == (
                reading.marks[0],
                reading.marks[-1],
            ):
                here_, there = q.stream[first].attributes[name], q.stream[last].attributes[name]
                assert isinstance(here_, int)
                assert isinstance(there, int)
                more = there - here_ - n
            case _:
                continue
        if more > 0 and f" by {more:g}: from {first} to {last}" in failure.words:
            return True
    return False
