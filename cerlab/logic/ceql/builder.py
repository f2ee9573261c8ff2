"""From parse trees to the syntax of CEQL: sugar ends here, and every node gets its span."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from typing import Any

from lark import Token, v_args
from lark.tree import Meta

from cerlab.errors import IllFormed
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.condition_builder import ConditionBuilder, constant, node
from cerlab.logic.ceql.syntax import Aggregate, CeqlQuery, SelectItem
from cerlab.logic.reading import Rule, value
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
_STRATEGIES = {
    "strict": Strategy.STRICT,
    "next": Strategy.NXT,
    "last": Strategy.LAST,
    "max": Strategy.MAX,
}


@v_args(meta=True)
class Builder(ConditionBuilder):
    """The rules of formulas and of queries."""

    # -- formulas ----------------------------------------------------------------------------

    type_atom = node(cel.Atom)
    stream_atom = node(lambda stream, event_type: cel.Atom(event_type, stream))
    not_ = node(cel.Not)
    as_ = node(cel.As)
    filter_ = node(cel.Filter)
    or_ = node(cel.Or)
    and_ = node(cel.And)
    all = node(cel.All)
    unless = node(cel.Unless)
    seq = node(cel.Seq)
    concat = node(cel.Concat)
    plus = node(cel.Plus)
    concat_plus = node(cel.ConcatPlus)
    project = node(lambda labels, body: cel.projection(labels or (), body))
    rename = node(cel.Rename)

    # -- queries -----------------------------------------------------------------------------

    no_strategy = value(lambda: None)

    def select_item(self, meta: Meta, children: list[Any]) -> SelectItem:
        (stream, label), attributes = children
        return self._record(meta, SelectItem(label, attributes or (), stream))

    select_all = value(lambda: ("items", None))
    select_none = select_items = value(lambda *items: ("items", items))

    def count_all(self, meta: Meta, children: list[str]) -> Aggregate:
        if children[0].upper() != "COUNT":
            raise self._no_aggregate(meta, f"{children[0]}(*)")
        return self._record(meta, Aggregate("count"))

    def aggregate(self, meta: Meta, children: list[str]) -> Aggregate:
        function, label, attribute = children
        if function.upper() not in ("SUM", "AVG", "MIN", "MAX"):
            raise self._no_aggregate(meta, f"{function}({label}.{attribute})")
        return self._record(meta, Aggregate(function.lower(), label, attribute))

    max_of = node(partial(Aggregate, "max"))

    def _no_aggregate(self, meta: Meta, text: str) -> IllFormed:
        hint = "write COUNT(*), or SUM(b.price), AVG, MIN, MAX of an attribute of a label"
        return IllFormed("CER0208", f"{text} is no aggregate", place=self.place(meta), hint=hint)

    select_aggregates = value(lambda *aggregates: ("aggregates", aggregates))
    group_key = value(lambda *names: names)
    group = value(lambda *keys: ("groups", keys))
    from_clause = value(lambda streams: ("streams", streams))
    bracket = value(lambda names: names)
    partition = value(lambda *brackets: ("partition", brackets))

    def event_window(self, meta: Meta, children: list[Token]) -> Window:
        return EventWindow(self._int(meta, children[0]))

    attribute_window = value(AttributeWindow)

    def time_window(self, meta: Meta, children: list[Any]) -> Window:
        total = sum((child for child in children if child is not None), Decimal(0))
        if total != int(total):
            message, hint = "a window of a fraction of a nanosecond", "write whole nanoseconds"
            raise IllFormed("CER0207", message, place=self.place(meta), hint=hint)
        return TimeWindow(int(total))

    def within(self, meta: Meta, children: list[Window]) -> tuple[str, Window]:
        return ("window", children[0])

    consume = value(lambda policy: ("consume", policy))

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


def _length(nanoseconds: int, number: float) -> Decimal:
    return Decimal(repr(number)) * nanoseconds  # as written


def _rules() -> Iterator[tuple[str, Rule]]:
    """The rules that are alike but for a value."""
    for symbol in (*pred.Operator, *Consume):
        prefix = "consume_" * isinstance(symbol, Consume)
        yield f"{prefix}{symbol.name.lower()}", constant(symbol)
    for op in pred.Arithmetic:
        yield op.name.lower(), node(partial(pred.Computed, op))
    for unit, nanoseconds in _NANOSECONDS.items():
        yield unit, value(partial(_length, nanoseconds))
    for word, strategy in _STRATEGIES.items():
        yield word, constant(strategy)
        yield f"select_{word}", node(partial(cel.Select, strategy))


for _name, _rule in _rules():
    setattr(Builder, _name, v_args(meta=True)(_rule))
