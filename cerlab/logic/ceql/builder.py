"""From parse trees to the syntax of CEQL: sugar ends here, and every node gets its span."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from lark import Token, v_args
from lark.tree import Meta

from cerlab.errors import IllFormed
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.condition_builder import ConditionBuilder
from cerlab.logic.ceql.syntax import Aggregate, CeqlQuery, SelectItem
from cerlab.model.clauses import (
    AttributeWindow,
    Consume,
    EventWindow,
    Limit,
    Strategy,
    TimeWindow,
    Window,
)
from cerlab.predicates import syntax as pred

_NANOSECONDS = {"hours": 3600 * 10**9, "minutes": 60 * 10**9, "seconds": 10**9}


@v_args(meta=True)
class Builder(ConditionBuilder):
    """The rules of formulas and of queries."""

    # -- formulas ----------------------------------------------------------------------------

    def type_atom(self, meta: Meta, children: list[str]) -> cel.Atom:
        return self._record(meta, cel.Atom(children[0]))

    def stream_atom(self, meta: Meta, children: list[str]) -> cel.Atom:
        stream, event_type = children
        return self._record(meta, cel.Atom(event_type, stream))

    def as_(self, meta: Meta, children: list[Any]) -> cel.As:
        return self._record(meta, cel.As(*children), children[0])

    def filter_(self, meta: Meta, children: list[Any]) -> cel.Filter:
        return self._record(meta, cel.Filter(*children), *children)

    def project(self, meta: Meta, children: list[Any]) -> cel.Project:
        labels, body = children
        return self._record(meta, cel.projection(labels or (), body), body)

    def rename(self, meta: Meta, children: list[Any]) -> cel.Rename:
        return self._record(meta, cel.Rename(*children), children[2])

    # -- queries -----------------------------------------------------------------------------

    def no_strategy(self, meta: Meta, children: list[Any]) -> None:
        return None

    def select_item(self, meta: Meta, children: list[Any]) -> SelectItem:
        (stream, label), attributes = children
        return self._record(meta, SelectItem(label, attributes or (), stream))

    def select_all(self, meta: Meta, children: list[Any]) -> tuple[str, None]:
        return ("items", None)

    def select_none(self, meta: Meta, children: list[Any]) -> tuple[str, tuple[SelectItem, ...]]:
        return ("items", ())

    def select_items(self, meta: Meta, children: list[Any]) -> tuple[str, tuple[SelectItem, ...]]:
        return ("items", tuple(children))

    def count_all(self, meta: Meta, children: list[str]) -> Aggregate:
        if children[0].upper() != "COUNT":
            raise self._no_aggregate(meta, f"{children[0]}(*)")
        return self._record(meta, Aggregate("count"))

    def aggregate(self, meta: Meta, children: list[str]) -> Aggregate:
        function, label, attribute = children
        if function.upper() not in ("SUM", "AVG", "MIN", "MAX"):
            raise self._no_aggregate(meta, f"{function}({label}.{attribute})")
        return self._record(meta, Aggregate(function.lower(), label, attribute))

    def max_of(self, meta: Meta, children: list[str]) -> Aggregate:
        return self._record(meta, Aggregate("max", *children))

    def _no_aggregate(self, meta: Meta, text: str) -> IllFormed:
        hint = "write COUNT(*), or SUM(b.price), AVG, MIN, MAX of an attribute of a label"
        return IllFormed("CER0208", f"{text} is no aggregate", place=self.place(meta), hint=hint)

    def select_aggregates(self, meta: Meta, children: list[Any]) -> tuple[str, Any]:
        return ("aggregates", tuple(children))

    def group_key(self, meta: Meta, children: list[str]) -> tuple[str, ...]:
        return tuple(children)

    def group(self, meta: Meta, children: list[Any]) -> tuple[str, Any]:
        return ("groups", tuple(children))

    def from_clause(self, meta: Meta, children: list[Any]) -> tuple[str, tuple[str, ...]]:
        return ("streams", children[0])

    def bracket(self, meta: Meta, children: list[Any]) -> tuple[str, ...]:
        names: tuple[str, ...] = children[0]
        return names

    def partition(self, meta: Meta, children: list[Any]) -> tuple[str, Any]:
        return ("partition", tuple(children))

    def event_window(self, meta: Meta, children: list[Token]) -> Window:
        return EventWindow(self._int(meta, children[0]))

    def attribute_window(self, meta: Meta, children: list[Any]) -> Window:
        return AttributeWindow(*children)

    def time_window(self, meta: Meta, children: list[Any]) -> Window:
        total = sum((child for child in children if child is not None), Decimal(0))
        if total != int(total):
            message, hint = "a window of a fraction of a nanosecond", "write whole nanoseconds"
            raise IllFormed("CER0207", message, place=self.place(meta), hint=hint)
        return TimeWindow(int(total))

    def within(self, meta: Meta, children: list[Window]) -> tuple[str, Window]:
        return ("window", children[0])

    def consume(self, meta: Meta, children: list[Consume]) -> tuple[str, Consume]:
        return ("consume", children[0])

    def limit(self, meta: Meta, children: list[Token]) -> tuple[str, Limit]:
        return ("limit", Limit(self._int(meta, children[0])))

    def query(self, meta: Meta, children: list[Any]) -> CeqlQuery:
        fields: dict[str, Any] = {}
        for child in children:
            if isinstance(child, Strategy):
                fields["strategy"] = child
            elif isinstance(child, tuple):
                fields[child[0]] = child[1]
            elif child is not None:
                fields["formula"] = child
        if "groups" in fields and "aggregates" not in fields:
            message = "GROUP BY is for SELECT COUNT(*) and sums, and answers come by their end"
            hint = "for substreams write PARTITION BY [a]"
            raise IllFormed("CER0208", message, place=self.place(meta), hint=hint)
        return self._record(meta, CeqlQuery(**fields))


def _constant_rule(value: object) -> Callable[[Builder, Meta, list[Any]], object]:
    return lambda self, meta, children: value


def _node_rule(make: Callable[..., object]) -> Callable[[Builder, Meta, list[Any]], object]:
    return lambda self, meta, children: self._record(meta, make(*children), *children)


def _unit_rule(nanoseconds: int) -> Callable[[Builder, Meta, list[Any]], object]:
    return lambda self, meta, children: Decimal(repr(children[0])) * nanoseconds  # as written


def _arithmetic_node(op: pred.Arithmetic) -> Callable[..., object]:
    return lambda left, right: pred.Computed(op, left, right)


def _select(strategy: Strategy) -> Callable[..., object]:
    return lambda body: cel.Select(strategy, body)


_RULES: dict[str, Callable[[Builder, Meta, list[Any]], object]] = {
    **{op.name.lower(): _constant_rule(op) for op in pred.Operator},
    **{op.name.lower(): _node_rule(_arithmetic_node(op)) for op in pred.Arithmetic},
    **{f"consume_{policy.name.lower()}": _constant_rule(policy) for policy in Consume},
    **{unit: _unit_rule(length) for unit, length in _NANOSECONDS.items()},
    "strict": _constant_rule(Strategy.STRICT),
    "next": _constant_rule(Strategy.NXT),
    "last": _constant_rule(Strategy.LAST),
    "max": _constant_rule(Strategy.MAX),
    "select_strict": _node_rule(_select(Strategy.STRICT)),
    "select_next": _node_rule(_select(Strategy.NXT)),
    "select_last": _node_rule(_select(Strategy.LAST)),
    "select_max": _node_rule(_select(Strategy.MAX)),
    "complement": _node_rule(pred.Not),
    "conjunction": _node_rule(pred.And),
    "disjunction": _node_rule(pred.Or),
    "both": _node_rule(pred.And),
    "either": _node_rule(pred.Or),
    "not_": _node_rule(cel.Not),
    "or_": _node_rule(cel.Or),
    "and_": _node_rule(cel.And),
    "all": _node_rule(cel.All),
    "unless": _node_rule(cel.Unless),
    "seq": _node_rule(cel.Seq),
    "concat": _node_rule(cel.Concat),
    "plus": _node_rule(cel.Plus),
    "concat_plus": _node_rule(cel.ConcatPlus),
}
for _name, _rule in _RULES.items():
    setattr(Builder, _name, v_args(meta=True)(_rule))
