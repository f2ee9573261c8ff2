"""From parse trees to expressions: sugar ends here, and every node gets its span."""

from __future__ import annotations

from typing import Any

from lark import v_args
from lark.tree import Meta

from cerlab.logic.ceql.builder import Builder
from cerlab.logic.ceql.condition_builder import node
from cerlab.logic.reading import value
from cerlab.logic.sremo import syntax as sre
from cerlab.predicates import syntax as pred


@v_args(meta=True)
class SremoBuilder(Builder):
    """CEQL's builder, which knows names and predicates, with guards and expressions."""

    everything = node(pred.Everything)
    register_attribute = node(pred.RegisterAttribute)

    def comparison(self, meta: Meta, children: list[Any]) -> Any:
        """``side op side``: of the event being read alone, or with a register."""
        left, op, right = children
        if any(isinstance(side, pred.RegisterAttribute) for side in (left, right)):
            return self._record(meta, pred.RegisterComparison(op, left, right), left, right)
        return super().comparison(meta, children)

    registers = value(lambda *names: frozenset(names))

    def terminal(self, meta: Meta, children: list[Any]) -> sre.Terminal:
        """``<guard>^ -> r``."""
        guard, mark, registers = children
        terminal = sre.Terminal(guard, mark is not None, registers or frozenset())
        return self._record(meta, terminal, guard)

    epsilon = node(sre.Epsilon)
    empty = node(sre.Empty)
    alternation = node(sre.Alternation)
    intersection = node(sre.Intersection)
    concat = node(sre.Concat)
    negation = node(sre.Negation)
    star = node(sre.Star)
    plus = node(sre.Plus)
    option = node(sre.Option)
    skip_any = node(lambda *operands: sre.SkipAny(operands))
    skip_next = node(lambda *operands: sre.SkipNext(operands))

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
