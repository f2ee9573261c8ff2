"""Derivations of a SREMO checked node by node: each follows from its children by its rule.

Nothing of the search is used: what a node consumes, marks and stores is computed from its
children's, and what looks further than them (negations, the gaps of ``@``) asks the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from cerlab import Event, Sremo, satisfies
from cerlab.logic.sremo import derivations
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import absence, writes
from cerlab.model.answer import Registers
from cerlab.why import Reading, SremoDerivation
from cerlab.why.deduction import Contents

Stream = Sequence[Event]


def check(node: SremoDerivation, v: Contents, S: Stream, read: frozenset[str]) -> None:
    """Check one ``(e, S, i, j, M, v) |- v'`` and all below it, on the registers that are read."""
    assert not node.failures
    reading = node.valuation
    assert 0 <= reading.start <= reading.end <= len(S)
    assert all(reading.start <= p < reading.end for p in reading.marks)
    assert list(reading.marks) == sorted(set(reading.marks))
    assert part_at_is_there(node)
    assert _follows(node, v, S, read), (str(node), v)


def part_at_is_there(node: SremoDerivation) -> bool:
    """The children are parts of the part, at their paths."""
    below = {
        ((*node.path, *path), e) for path, e in paths(node.part) if 0 < len(path) <= _reach(node)
    }
    return all((child.path, child.part) in below for child in node.children)


def _reach(node: SremoDerivation) -> int:
    if isinstance(node.part, sre.Concat):
        return len(node.path) + 1_000
    return 2 if isinstance(node.part, sre.SkipAny | sre.SkipNext) else 1


def paths(e: Sremo, path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Sremo]]:
    """All subexpressions with their paths."""
    below = enumerate(sre.children(e))
    return [(path, e), *(each for n, child in below for each in paths(child, (*path, n)))]


def registers(v: Contents, S: Stream) -> Registers:
    return Registers({r: S[p] for r, p in v if p is not None})


def _follows(node: SremoDerivation, v: Contents, S: Stream, read: frozenset[str]) -> bool:
    reading, below = node.valuation, node.children
    i, j, marks, same = reading.start, reading.end, reading.marks, reading.registers == v
    match node.part:
        case sre.Epsilon():
            return i == j and same and not marks
        case sre.Empty():
            return False
        case sre.Terminal(guard, marked, W):
            after_write = tuple(sorted({**dict(v), **dict.fromkeys(W & read, i)}.items()))
            right = marks == ((i,) if marked else ()) and reading.registers == after_write
            return j == i + 1 and right and satisfies(S[i], guard, registers(v, S))
        case sre.Concat() as e:
            parts = []
            spine: Sremo = e
            while isinstance(spine, sre.Concat):
                parts.append(spine.right)
                spine = spine.left
            assert [child.part for child in below] == [spine, *reversed(parts)]
            return _is_chain(node, v, S, read, gaps="")
        case sre.Star(sre.Terminal(guard, False, W)) | sre.Plus(sre.Terminal(guard, False, W)) if (
            not W
        ):
            enough = isinstance(node.part, sre.Star) or j > i
            all_hold = all(satisfies(t, guard, registers(v, S)) for t in S[i:j])
            return same and not marks and enough and all_hold and not below
        case sre.Star(body) | sre.Plus(body):
            assert all(child.part == body for child in below)
            if not below:
                return isinstance(node.part, sre.Star) and i == j and same and not marks
            return _is_chain(node, v, S, read, gaps="")
        case sre.Option():
            if not below:
                return i == j and same and not marks
            return _passed_on(node, v, S, read)
        case sre.Alternation():
            return _passed_on(node, v, S, read)
        case sre.SpanWindow(_, w):
            return _passed_on(node, v, S, read) and (not marks or marks[-1] - marks[0] + 1 <= w)
        case sre.LengthWindow(_, w):
            return _passed_on(node, v, S, read) and j - i <= w
        case sre.Within(_, n, time):
            if not marks:
                return _passed_on(node, v, S, read)
            first, last = (S[p].attributes[time] for p in (marks[0], marks[-1]))
            assert isinstance(first, int)
            assert isinstance(last, int)
            return _passed_on(node, v, S, read) and last - first <= n
        case sre.Intersection(left, right):
            a, b = below
            assert (a.part, b.part) == (left, right)
            for side in below:
                check(side, v, S, read)
                assert (side.valuation.start, side.valuation.end, side.valuation.marks) == (
                    i,
                    j,
                    marks,
                )
            own = {r: p for r, p in a.valuation.registers if r in writes(left)}
            other = {r: p for r, p in b.valuation.registers if r in writes(right)}
            same_registers = {r: p for r, p in v if r not in writes(left) | writes(right)}
            return dict(reading.registers) == {**same_registers, **own, **other}
        case sre.Negation(body):
            body_ends = {d.end for d in derivations(body, S, i, registers(v, S))}
            return same and not marks and not below and j not in body_ends
        case sre.SkipAny():
            return _rounds_or_operands(node) and _is_chain(node, v, S, read, gaps="#")
        case sre.SkipNext():
            return _rounds_or_operands(node) and _is_chain(node, v, S, read, gaps="@")
        case _:
            assert_never(node.part)


def _passed_on(node: SremoDerivation, v: Contents, S: Stream, read: frozenset[str]) -> bool:
    """The node is what its only child is."""
    (child,) = node.children
    check(child, v, S, read)
    return child.valuation == node.valuation


def _rounds_or_operands(node: SremoDerivation) -> bool:
    assert isinstance(node.part, sre.SkipAny | sre.SkipNext)
    match node.part.operands:
        case (sre.Star(body),):
            return all(child.part == body for child in node.children)
        case (sre.Plus(body),):
            return bool(node.children) and all(child.part == body for child in node.children)
        case operands:
            return tuple(child.part for child in node.children) == operands


def _is_chain(
    node: SremoDerivation, v: Contents, S: Stream, read: frozenset[str], *, gaps: str
) -> bool:
    """The children one after another, with gaps only where the operator has some."""
    reading, below = node.valuation, node.children
    if not below:
        return reading == Reading(reading.start, reading.start, (), v)
    for child in below:
        check(child, v, S, read)
        v = child.valuation.registers
    parts = [child.valuation for child in below]
    assert (parts[0].start, parts[-1].end) == (reading.start, reading.end)
    assert reading.registers == parts[-1].registers
    assert reading.marks == tuple(p for part in parts for p in part.marks)
    for a, b, after in zip(parts, parts[1:], below[1:], strict=False):
        assert a.end == b.start or (gaps and a.end < b.start)
        if gaps == "@":
            contents = registers(a.registers, S)
            assert b.start in {d.end for d in derivations(absence(after.part), S, a.end, contents)}
    return True
