"""Parse trees to names, constants, predicates and filters, for all query languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

from lark import Token, v_args
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive

from cerlab.errors import (
    IllFormed,
    QuerySyntaxError,
    ResourceLimit,
    SourcePlace,
    Span,
    nearest,
)
from cerlab.logic.ceql.hints_from_other_languages import call_hint, recipe_text
from cerlab.logic.parsing import Rule, place_at, value
from cerlab.model.event import UNITS, Duration, Timestamp, is_in_calendar, moment_of_text
from cerlab.model.paths import fields_of, path_name
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import SetOf, user_predicates
from cerlab.predicates.text import name_text
from cerlab.predicates.truth import kind_of, search

MAX_DEPTH = 200
"""The depth of the deepest tree of operators that is read; a chain of n operators is n deep."""

_PATH = re.compile(r"(?:[A-Za-z_]\w*|`(?:[^`]|``)+`)[^\w.=<>]*\.")
"""Pattern of the first name of a path, and its dot."""

T = TypeVar("T")

GROUP_WORDS = ("COUNT", "SUM", "AVG", "MIN", "MAX", "FIRST", "LAST", "PREV")
"""The functions of the events of a label that a comparison supports, in any letter case."""


class Call(NamedTuple):
    """A function call in a filter: ``SUM(x.price)``, ``COUNT(*)``, ``COUNT(DISTINCT x.id)``."""

    name: str
    arguments: tuple[Any, ...]
    form: str = ""

    def operand(self) -> pred.OfGroup | pred.Previous | None:
        """Return the call as an operand of a comparison; None if it cannot be one."""
        word = self.name.upper()
        match self.arguments:
            case (SetOf(label, None),) if word == "COUNT" and not self.form:
                return pred.OfGroup(pred.Group.COUNT, label)
            case (SetOf(label, str() as attribute),) if word == "COUNT" and self.form:
                return pred.OfGroup(pred.Group.DISTINCT, label, attribute)
            case (SetOf(label, str() as attribute),) if word == "PREV" and not self.form:
                return pred.Previous(label, attribute)
            case (SetOf(label, str() as attribute),) if word in GROUP_WORDS[1:] and not self.form:
                return pred.OfGroup(pred.Group[word], label, attribute)
        return None

    def why_no_operand(self) -> tuple[str, str]:
        """Return the message and the hint for a call that cannot be an operand."""
        if self.name.upper() not in GROUP_WORDS:
            message = f"{self.name}(..) is not a value to compare"
            return message, call_hint(self.name) or f"known: {', '.join(GROUP_WORDS)}"
        if self.name.upper() == "COUNT":
            message = "COUNT needs a label, or DISTINCT and an attribute of a label"
        else:
            message = f"{self.name.upper()} needs an attribute of a label"
        match self.arguments:
            case (SetOf(name, None),) if self.form == "DISTINCT " and name.upper() != "NULL":
                # SQL names the attribute alone in COUNT(DISTINCT v), but here v may also be a label
                other = f"COUNT(DISTINCT a.{name_text(name)}) of an attribute {name}"
                return message, f"write {other}, or {self.example()} of a label {name}"
            case (SetOf(_, str()),) if self.name.upper() == "COUNT" and not self.form:
                ratio = recipe_text("More than half of the calls fail")
                return message, f"write {self.example()}; for a ratio see {ratio}"
        return message, f"write {self.example()}"

    def example(self) -> str:
        """Return a correct call of this function as text, with the label that was used."""
        word = self.name.upper()
        argument = next((x for x in self.arguments if isinstance(x, SetOf)), SetOf("x"))
        if argument.label.upper() == "NULL":
            argument = SetOf("a")
        label, attribute = name_text(argument.label), name_text(argument.attribute or "price")
        of_attribute = f"{label}.{attribute}"
        if word != "COUNT":
            return f"{word}({of_attribute})"
        if argument.attribute is None and not self.form.strip("*"):
            return f"COUNT({label})"
        distinct = f"COUNT(DISTINCT {of_attribute})"
        return distinct if self.form else f"COUNT({label}), or {distinct}"


def constant(of_rule: object) -> Rule:
    """Return a builder rule with a constant result."""
    return lambda self, meta, children: of_rule


def measure(unit: str) -> Rule:
    """Return a builder rule for a number with a unit of time; its result is in nanoseconds."""
    return lambda self, meta, children: self._nanoseconds(meta, children[0], UNITS[unit])


def node(make: Callable[..., object]) -> Rule:
    """Return a builder rule that makes a syntax node from the results of its parts."""
    return lambda self, meta, children: self._record(meta, make(*children), *children)


@v_args(meta=True)
class ConditionBuilder(Transformer_NonRecursive[Token, Any]):
    """A builder of names, constants, predicates and filters, with one method per grammar rule.

    Each text has its own builder; subclasses add the rules of a language. `spans` maps ``id(node)``
    to the span of each formula, condition and predicate; `nodes` keeps the nodes alive, so that no
    id is reused.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.spans: dict[int, Span] = {}
        self.nodes: list[object] = []
        self.bracket_paths: list[tuple[str, int]] = []
        """The first name of each path in brackets, and the position of its dot in the text."""
        self._depths: dict[int, int] = {}

    def place(self, meta: Meta) -> SourcePlace:
        """Return the place in the query text of a rule's match."""
        return SourcePlace(self.text, _span(meta))

    def place_of(self, node: object) -> SourcePlace | None:
        """Return the place of a syntax node in the query text; None for nodes without one."""
        span = self.spans.get(id(node))
        return SourcePlace(self.text, span) if span else None

    def _record(self, meta: Meta, node: T, *below: object) -> T:
        """Store the place of a new syntax node; raise `ResourceLimit` if it nests too deep."""
        depth = 1 + max((self._depths.get(id(child), 0) for child in below), default=0)
        if depth > MAX_DEPTH:
            raise ResourceLimit(
                "CER0602",
                f"the query nests or chains more than {MAX_DEPTH} operators",
                place=self.place(meta),
                hint="use IN {..} for long lists of values",
            )
        self.nodes.append(node)
        self.spans[id(node)] = _span(meta)
        self._depths[id(node)] = depth
        return node

    # -- words and numbers -------------------------------------------------------------------

    def name(self, meta: Meta, children: list[Token]) -> str:
        word = children[0]
        if word.type == "QUOTED_NAME":
            return str(word[1:-1].replace("``", "`"))
        return str(word)

    names = paths = labels = label_of_stream = value(lambda *names: names)
    path = value(lambda *fields: path_name(fields))
    label_of_all = value(lambda label: (None, label))

    def integer(self, meta: Meta, children: list[Token]) -> int:
        return self._int(meta, children[0])

    def negative_integer(self, meta: Meta, children: list[Token]) -> pred.Constant:
        return self._record(meta, pred.Constant(-self._int(meta, children[0])))

    def _int(self, meta: Meta, digits: str) -> int:
        # 2^63 is allowed, for -9223372036854775808; 20 digits suffice to detect larger numbers
        value = int(digits.lstrip("0")[:20] or "0")
        if value > 2**63:
            raise self._too_large(meta, "an integer")
        return value

    def decimal(self, meta: Meta, children: list[Token]) -> float:
        value = float(children[0])
        if value in (float("inf"), float("-inf")):
            raise self._too_large(meta, "a number")
        return value

    def _too_large(self, meta: Meta, noun: str) -> IllFormed:
        return IllFormed(
            "CER0204",
            f"{noun} needs more than 64 bits",
            place=self.place(meta),
            hint="integers are from -2^63 to 2^63 - 1, other numbers below 1.8e308",
        )

    def negative_decimal(self, meta: Meta, children: list[Token]) -> pred.Constant:
        return self._record(meta, pred.Constant(-self.decimal(meta, children)))

    def integer_constant(self, meta: Meta, children: list[Token]) -> pred.Constant:
        return self._record(meta, pred.Constant(self.integer(meta, children)))

    def decimal_constant(self, meta: Meta, children: list[Token]) -> pred.Constant:
        return self._record(meta, pred.Constant(self.decimal(meta, children)))

    text_constant = node(lambda token: pred.Constant(_unquote(token)))
    true = node(lambda: pred.Constant(True))
    false = node(lambda: pred.Constant(False))

    # -- moments and durations ---------------------------------------------------------------

    days, hours, minutes, seconds, milliseconds = map(measure, UNITS)

    def _nanoseconds(self, meta: Meta, number: Token, unit: int) -> Fraction:
        near = self.decimal(meta, [number])
        # smaller than all positive doubles, and too costly to compute exactly
        if near == 0 and number.strip("0.eE+-"):
            raise self._too_fine(meta)
        return Fraction(Decimal(number)) * unit  # the exact decimal, not rounded to a double

    def duration(self, meta: Meta, children: list[Fraction | None]) -> int:
        total = sum((child for child in children if child is not None), Fraction(0))
        if total.denominator != 1:
            raise self._too_fine(meta)
        return int(total)

    def _too_fine(self, meta: Meta) -> IllFormed:
        message, hint = "a length of time below a nanosecond", "write whole nanoseconds"
        return IllFormed("CER0207", message, place=self.place(meta), hint=hint)

    def duration_constant(self, meta: Meta, children: list[int]) -> pred.Constant:
        # 2^63 is allowed after a minus: 64 bits hold -2^63 nanoseconds
        negative = self.text[: meta.start_pos].rstrip().endswith("-")
        if children[0] >= 2**63 + negative:
            raise self._no_time(
                meta,
                "a duration beyond 64 bits of nanoseconds",
                "the longest duration is 292 years",
            )
        return self._record(meta, pred.Constant(Duration(children[0])))

    def negative_duration(self, meta: Meta, children: list[int]) -> pred.Expression:
        return self.negative(meta, [self.duration_constant(meta, children)])

    def timestamp_constant(self, meta: Meta, children: list[Token]) -> pred.Constant:
        moment = moment_of_text(_unquote(children[0]))
        if moment is None:
            message = f"{children[0]} is not a moment"
            raise self._no_time(meta, message, "write TIMESTAMP '2024-01-31 10:00:00.5+01:00'")
        return self._moment(meta, moment)

    def date_constant(self, meta: Meta, children: list[Token]) -> pred.Constant:
        text = _unquote(children[0])
        moment = moment_of_text(text) if len(text) == len("2024-01-31") else None
        if moment is None:
            raise self._no_time(meta, f"{children[0]} is not a date", "write DATE '2024-01-31'")
        return self._moment(meta, moment)

    def _moment(self, meta: Meta, moment: Timestamp) -> pred.Constant:
        if not is_in_calendar(moment.nanoseconds):
            raise self._no_time(meta, "a moment outside the years 1 to 9999", "check the time zone")
        return self._record(meta, pred.Constant(moment))

    def _no_time(self, meta: Meta, message: str, hint: str) -> QuerySyntaxError:
        place = self.place(meta)
        return QuerySyntaxError("CER0102", message, place=place, expected=(), hint=hint)

    # -- expressions and predicates ----------------------------------------------------------

    def attribute(self, meta: Meta, children: list[str]) -> pred.Attribute:
        (name,) = children
        fields = fields_of(name)
        written = _PATH.match(self.text, meta.start_pos)
        if fields is not None and written is not None:
            self.bracket_paths.append((fields[0], written.end() - 1))
        return self._record(meta, pred.Attribute(name))

    complement = node(pred.Not)
    conjunction = both = node(pred.And)
    disjunction = either = node(pred.Or)

    def negative(self, meta: Meta, children: list[pred.Expression]) -> pred.Expression:
        operand = children[0]
        if isinstance(operand, pred.Constant) and kind_of(operand.value) == "number":
            assert isinstance(operand.value, (int, float))
            return self._record(meta, pred.Constant(-operand.value))
        if isinstance(operand, pred.Constant) and isinstance(operand.value, Duration):
            return self._record(meta, pred.Constant(Duration(-operand.value.nanoseconds)))
        return self._record(meta, pred.Negated(operand), operand)

    def comparison(self, meta: Meta, children: list[Any]) -> pred.Comparison:
        left, op, right = children
        constants = isinstance(left, pred.Constant) and isinstance(right, pred.Constant)
        if constants and self.text[meta.start_pos : meta.start_pos + 1] == '"':
            name, other = left.value, self.text[meta.start_pos : meta.end_pos].partition('"')[2]
            rest = other.partition('"')[2].strip()
            message = "double quotes are for texts, so two constants are compared"
            hint = f"write the attribute without quotes: {name} {rest}; a text has single quotes"
            raise IllFormed("CER0245", message, place=self.place(meta), hint=hint)
        return self._record(meta, pred.Comparison(op, left, right), left, right)

    def like(self, meta: Meta, children: list[Any]) -> pred.Like:
        operand, token = children
        pattern = _unquote(token)
        try:
            search(pattern, "")
        except (ValueError, OSError) as error:
            message = f"LIKE needs a regular expression in RE2 syntax: {error}"
            place = place_at(self.text, token.start_pos or 0, len(token))
            hint = "RE2 has no look-around and no back-references"
            raise IllFormed("CER0205", message, place=place, hint=hint) from None
        return self._record(meta, pred.Like(operand, pattern), operand)

    def members(self, meta: Meta, children: list[pred.Constant]) -> tuple[pred.Constant, ...]:
        self._check_kinds(meta, "set", children)
        return tuple(children)

    def _check_kinds(self, meta: Meta, noun: str, values: Sequence[pred.Expression]) -> None:
        constants = (each.value for each in values if isinstance(each, pred.Constant))
        if len({kind_of(value) for value in constants}) > 1:
            message = f"a {noun} after IN mixes kinds of values, which are never equal"
            hint = f"use two {noun}s with OR between them"
            raise IllFormed("CER0206", message, place=self.place(meta), hint=hint)

    member = node(pred.Member)
    not_member = node(lambda operand, values: pred.Member(operand, values, negated=True))

    def low_and_high(
        self, meta: Meta, children: list[Any]
    ) -> tuple[pred.Expression, pred.Expression]:
        self._check_kinds(meta, "range", children)
        low, high = children
        return low, high

    from_low = value(lambda low: (low, None))
    to_high = value(lambda high: (None, high))

    def between(self, meta: Meta, children: list[Any], negated: bool = False) -> pred.Between:
        operand, (low, high) = children
        return self._record(meta, pred.Between(operand, low, high, negated), operand, low, high)

    def not_between(self, meta: Meta, children: list[Any]) -> pred.Between:
        return self.between(meta, children, True)

    # -- filters -----------------------------------------------------------------------------

    def on(self, meta: Meta, children: list[Any]) -> cond.On:
        (stream, label), predicate = children
        if stream is not None:
            predicate = self._record(meta, pred.if_of_stream(stream, predicate), predicate)
        return self._record(meta, cond.On(label, predicate), predicate)

    label_attribute = node(pred.LabelAttribute)

    call = value(lambda name, *arguments: Call(name, arguments))
    distinct_call = value(lambda name, argument: Call(name, (argument,), "DISTINCT "))
    star_call = value(lambda name: Call(name, (), "*"))

    def group_operand(self, meta: Meta, children: list[Call]) -> pred.OfGroup | pred.Previous:
        call = children[0]
        operand = call.operand()
        if operand is None:
            message, hint = call.why_no_operand()
            raise IllFormed("CER0244", message, place=self.place(meta), hint=hint)
        return self._record(meta, operand)

    def compare_labels(self, meta: Meta, children: list[Any]) -> cond.Condition:
        left, op, right = children
        whole = cond.Correlation(op, left, right)
        if not whole.labels:
            raise IllFormed(
                "CER0243",
                "a comparison in a filter without a label",
                place=self.place(meta),
                hint="write label.attribute on one side, as in FILTER b.price > 1.05 * a.price, "
                "or COUNT(a) >= 3",
            )
        if len(whole.labels) > 1 or whole.of_group is not None:
            return self._record(meta, whole, left, right)

        def own(leaf: pred.Leaf) -> pred.Expression:
            if not isinstance(leaf, pred.LabelAttribute):
                return leaf
            return self._record(meta, pred.Attribute(leaf.attribute))

        sides = (pred.with_leaves(side, own) for side in (left, right))
        comparison = self._record(meta, pred.Comparison(op, *sides), left, right)
        return self._record(meta, cond.On(whole.labels[0], comparison), comparison)

    set_of_events = set_of_values = value(SetOf)

    def application(self, meta: Meta, children: list[Call]) -> cond.Application:
        name, arguments, form = children[0]
        predicates = user_predicates()
        if form or (name not in predicates and name.upper() in GROUP_WORDS):
            raise IllFormed(
                "CER0244",
                f"{name}(..) is a value, which a filter must compare",
                place=self.place(meta),
                hint=f"write {children[0].example()} >= 3",
            )
        if name not in predicates:
            raise IllFormed(
                "CER0240",
                f"unknown predicate '{name}'",
                place=self.place(meta),
                hint=f"register it with @cerlab.predicate; {nearest(name, predicates)}",
            )
        values = [
            a.value if isinstance(a, pred.Constant) else a for a in arguments if a is not None
        ]
        return self._record(meta, cond.Application(predicates[name], tuple(values)))


def _unquote(token: str) -> str:
    quote = token[0]
    return str(token[1:-1].replace(quote * 2, quote))


def _span(meta: Meta) -> Span:
    if meta.empty:
        return Span(1, 1, 1, 1)
    return Span(meta.line, meta.column, meta.end_line, meta.end_column)
