"""Derivations checked node by node: each follows from its children by its row of the table.

Nothing of the search is used: a node's valuation is computed from its children's, and what looks
further than them (UNLESS, strategies) asks the reference.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import assert_never

from cerlab import Event, Valuation
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import holds, select, valuations
from cerlab.logic.ceql.syntax import CeqlQuery, partition_attributes
from cerlab.model.answer import complex_event
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow
from cerlab.model.event import is_of_streams
from cerlab.model.stream import Stream
from cerlab.predicates.truth import partition_key
from cerlab.why.deduction import CelDerivation


class Substream:
    """The events of one partition, and where they are in the whole stream."""

    def __init__(self, query: CeqlQuery, stream: Stream, member: int) -> None:
        attributes = partition_attributes(query)
        key = partition_key(stream[member], attributes)
        self.at = [
            i
            for i, t in enumerate(stream)
            if (not query.streams or t.stream is None or t.stream in query.streams)
            and partition_key(t, attributes) == key
        ]
        self.events: list[Event] = [stream[i] for i in self.at]
        every = [t for t in stream if is_of_streams(t, query.streams)]
        self._last = every[-1] if every else stream[0]
        self._until = stream.until

    def local(self, V: Valuation) -> Valuation:
        """A valuation in the substream's own positions."""
        place = {p: i for i, p in enumerate(self.at)}
        labels = {X: tuple(place[p] for p in D) for X, D in V.labels.items()}
        return Valuation(place[V.start], place[V.end], labels)

    def time(self, i: int, window: TimeWindow | AttributeWindow) -> Fraction:
        """The time of an event as a window reads it; `t` is in seconds."""
        return _time(self.events[i], window)

    def is_over(self, j: int, length: TimeWindow | AttributeWindow) -> bool:
        """Whether the clock has passed a wait from the j-th event on."""
        if self._until == "end":
            return True
        now = _time(self._last, length)
        if self._until is not None:
            assert isinstance(self._until, int | float)
            now = Fraction(self._until)
        return now > self.time(j, length) + width_of(length)


def check(node: CelDerivation, S: Substream) -> Valuation:
    """The node's valuation, in the substream's positions, after all of it has been checked."""
    assert node.valuation is not None
    V = S.local(node.valuation)
    below = [check(child, S) for child in node.children]
    assert not node.failures
    assert [child.path for child in node.children] == _paths(node)
    assert _follows(node.part, V, below, S), (node.part, V, below)
    return V


def _paths(node: CelDerivation) -> list[tuple[int, ...]]:
    match node.part:
        case cel.Atom() | cel.Not():
            return []
        case cel.Or():
            assert node.children[0].path in ((*node.path, 0), (*node.path, 1))
            return [node.children[0].path]
        case cel.Plus() | cel.ConcatPlus() | cel.Count():
            return [(*node.path, 0)] * len(node.children)
        case cel.Unless():
            return [(*node.path, 0)]
        case part:
            return [(*node.path, n) for n, _ in enumerate(cel.children(part))]


def _follows(phi: cel.Formula, V: Valuation, below: list[Valuation], S: Substream) -> bool:
    match phi:
        case cel.Atom(R, stream):
            t = S.events[V.start]
            ours = stream is None or t.stream is None or t.stream == stream
            return t.type == R and ours and Valuation(V.start, V.start, {R: (V.start,)}) == V
        case cel.Not(body):
            without_labels = Valuation(V.start, V.start, {}) == V
            return without_labels and not valuations(body, (S.events[V.start],))
        case cel.As(_, X):
            (W,) = below
            return Valuation(W.start, W.end, {**W.labels, X: complex_event(W).positions}) == V
        case cel.Filter(_, condition):
            return below == [V] and holds(condition, V, S.events)
        case cel.Project(kept, _):
            (W,) = below
            labels = {X: D for X, D in W.labels.items() if X in kept}
            return Valuation(W.start, W.end, labels) == V
        case cel.Rename(old, new, _):
            (W,) = below
            other_labels = {X: D for X, D in W.labels.items() if old != X}
            other_labels[new] = (*other_labels.get(new, ()), *W.labels.get(old, ()))
            return Valuation(W.start, W.end, other_labels) == V
        case cel.Or():
            return below == [V]
        case cel.And():
            return below == [V, V]
        case cel.Seq() | cel.Plus():
            in_order = all(a.end < b.start for a, b in pairwise(below))
            return in_order and reduce(_together, below) == V
        case cel.Concat() | cel.ConcatPlus():
            in_order = all(a.end + 1 == b.start for a, b in pairwise(below))
            return in_order and reduce(_together, below) == V
        case cel.Count(_, least, most, gaps):
            is_counted = least <= len(below) <= (most or len(below))
            steps = [b.start - a.end for a, b in pairwise(below)]
            in_order = all(step >= 1 if gaps else step == 1 for step in steps)
            return is_counted and in_order and reduce(_together, below) == V
        case cel.All():
            return reduce(_together, below) == V
        case cel.Unless(_, right):
            rivals = valuations(right, S.events)
            return below == [V] and not any(V.start <= W.start and W.end <= V.end for W in rivals)
        case cel.Select(strategy, body):
            return below == [V] and V in select(strategy, valuations(body, S.events))
        case cel.Within(_, EventWindow(width)):
            return below == [V] and V.end - V.start <= width
        case cel.Within(_, window):
            assert not isinstance(window, EventWindow)
            span = S.time(V.end, window) - S.time(V.start, window)
            return below == [V] and span <= width_of(window)
        case cel.Wait(_, length):
            (W,) = below
            until = S.time(W.end, length) + width_of(length)
            last = max(k for k in range(len(S.events)) if S.time(k, length) <= until)
            is_over = S.is_over(W.end, length)
            return is_over and Valuation(W.start, last, W.labels) == V
        case cel.Lookback(_, length):
            (W,) = below
            since = S.time(W.start, length) - width_of(length)
            first = min(k for k in range(len(S.events)) if S.time(k, length) >= since)
            return Valuation(first, W.end, W.labels) == V
        case _:
            assert_never(phi)


def width_of(window: TimeWindow | AttributeWindow) -> Fraction:
    """The length of a window, in seconds or in the numbers of its attribute."""
    if isinstance(window, AttributeWindow):
        return Fraction(window.width)
    return Fraction(window.nanoseconds, 10**9)


def _time(event: Event, window: TimeWindow | AttributeWindow) -> Fraction:
    name = window.attribute if isinstance(window, AttributeWindow) else "t"
    value = event.attributes[name]
    assert isinstance(value, int | float)
    return Fraction(value)


def _together(V: Valuation, W: Valuation) -> Valuation:
    labels = {
        X: tuple({*V.labels.get(X, ()), *W.labels.get(X, ())}) for X in {*V.labels, *W.labels}
    }
    return Valuation(min(V.start, W.start), max(V.end, W.end), labels)
