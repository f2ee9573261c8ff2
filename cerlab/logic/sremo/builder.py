"""From parse trees to expressions: sugar ends here, and every node gets its span."""

from __future__ import annotations

from typing import Any

from lark import v_args
from lark.tree import Meta

from cerlab.errors import SourcePlace
from cerlab.logic.ceql.builder import Builder
from cerlab.logic.sremo import syntax as sre
from cerlab.predicates import syntax as pred


@v_args(meta=True)
class SremoBuilder(Builder):
    """CEQL's builder, which knows names and predicates, with guards and expressions."""

    def place_of(self, node: object) -> SourcePlace | None:
        """The place of a node, by identity."""
        span = self.spans.get(id(node))
        return SourcePlace(self.text, span) if span else None

    def everything(self, meta: Meta, children: list[Any]) -> pred.Everything:
        """``TRUE``."""
        return self._record(meta, pred.Everything())

    def register_attribute(self, meta: Meta, children: list[str]) -> pred.RegisterAttribute:
        """``r.attr``."""
        return self._record(meta, pred.RegisterAttribute(*children))

    def comparison(self, meta: Meta, children: list[Any]) -> Any:
        """``side op side``: of the event being read alone, or with a register."""
        left, op, right = children
        if any(isinstance(side, pred.RegisterAttribute) for side in (left, right)):
            return self._record(meta, pred.RegisterComparison(op, left, right), left, right)
        return super().comparison(meta, children)

    def registers(self, meta: Meta, children: list[str]) -> frozenset[str]:
        """``r``, ``{r, s}``."""
        return frozenset(children)

    def terminal(self, meta: Meta, children: list[Any]) -> sre.Terminal:
        """``<guard>^ -> r``."""
        guard, mark, registers = children
        terminal = sre.Terminal(guard, mark is not None, registers or frozenset())
        return self._record(meta, terminal, guard)

    def epsilon(self, meta: Meta, children: list[Any]) -> sre.Epsilon:
        """``EPS``."""
        return self._record(meta, sre.Epsilon())

    def empty(self, meta: Meta, children: list[Any]) -> sre.Empty:
        """``EMPTY``."""
        return self._record(meta, sre.Empty())

    def alternation(self, meta: Meta, children: list[sre.Sremo]) -> sre.Alternation:
        """``e | e``."""
        return self._record(meta, sre.Alternation(*children), *children)

    def intersection(self, meta: Meta, children: list[sre.Sremo]) -> sre.Intersection:
        """``e & e``."""
        return self._record(meta, sre.Intersection(*children), *children)

    def concat(self, meta: Meta, children: list[Any]) -> Any:
        """``e . e``."""
        return self._record(meta, sre.Concat(*children), *children)

    def negation(self, meta: Meta, children: list[sre.Sremo]) -> sre.Negation:
        """``!e``."""
        return self._record(meta, sre.Negation(*children), *children)

    def star(self, meta: Meta, children: list[Any]) -> Any:
        """``e*``."""
        return self._record(meta, sre.Star(*children), *children)

    def plus(self, meta: Meta, children: list[Any]) -> Any:
        """``e+``."""
        return self._record(meta, sre.Plus(*children), *children)

    def option(self, meta: Meta, children: list[sre.Sremo]) -> sre.Option:
        """``e?``."""
        return self._record(meta, sre.Option(*children), *children)

    def span_window(self, meta: Meta, children: list[Any]) -> sre.SpanWindow:
        """``e[1..w]``."""
        body, _, width = children
        return self._record(meta, sre.SpanWindow(body, self._int(meta, width)), body)

    def length_window(self, meta: Meta, children: list[Any]) -> sre.LengthWindow:
        """``e[len<=w]``."""
        body, width = children
        return self._record(meta, sre.LengthWindow(body, self._int(meta, width)), body)

    def within(self, meta: Meta, children: list[Any]) -> Any:
        """``e[within n attr]``."""
        return self._record(meta, sre.Within(*children), children[0])

    def skip_any(self, meta: Meta, children: list[sre.Sremo]) -> sre.SkipAny:
        """``#(e, .., e)``."""
        return self._record(meta, sre.SkipAny(tuple(children)), *children)

    def skip_next(self, meta: Meta, children: list[sre.Sremo]) -> sre.SkipNext:
        """``@(e, .., e)``."""
        return self._record(meta, sre.SkipNext(tuple(children)), *children)
