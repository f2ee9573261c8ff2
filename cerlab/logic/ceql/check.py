"""Checks of queries: comparisons that types make impossible, and parts without effect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import assert_never

from cerlab.errors import SourcePlace, TypeMismatch, nearest
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.text import formula_text, label_text, window_text
from cerlab.logic.ceql.hints_from_other_languages import recipe_text
from cerlab.logic.ceql.inner_window import SOME_TIME, axis_of, compared_inside, counted_in_window
from cerlab.logic.ceql.parser import Source
from cerlab.logic.ceql.syntax import CeqlQuery, SelectItem, partition_attributes, query_text
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.model.event import AttributeType, EventDeclaration, Schema
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Atomic, Condition, Correlation, SetOf, atomics, labels_of
from cerlab.predicates.domains import KIND_OF_TYPE
from cerlab.predicates.groups import kind_of_group
from cerlab.predicates.syntax import Like, atoms, split_stream
from cerlab.predicates.text import expression_text, literal_hint, name_text, predicate_text
from cerlab.predicates.truth import kind_of, kind_of_result

_SAME_KIND = "both sides must be numbers, texts, booleans, timestamps or durations"


def check_predicate(P: pred.Predicate, events: Sequence[EventDeclaration], source: Source) -> None:
    """Raise `TypeMismatch` if a predicate compares kinds that never compare, on declared types.

    Raise `TypeMismatch` for an attribute that no type has, and for a comparison whose sides are of
    different kinds for every type.
    """
    match P:
        case pred.Everything() | pred.TypeIs() | pred.StreamIs():
            pass
        case pred.And(left, right) | pred.Or(left, right):
            check_predicate(left, events, source)
            check_predicate(right, events, source)
        case pred.Not(inner):
            check_predicate(inner, events, source)
        case pred.Comparison(_, left, right):
            _compare(P, [left, right], events, source)
        case pred.Member(operand, values):
            # all constants are of one kind, as the parser has checked
            _compare(P, [operand, values[0]], events, source)
        case pred.Between(operand, low, high):
            for bound in (low, high):
                if bound is not None:
                    _compare(P, [operand, bound], events, source)
        case pred.Like(operand, pattern):
            _compare(P, [operand, pred.Constant(pattern)], events, source)
        case _:
            assert_never(P)


def _compare(
    P: pred.Predicate,
    sides: list[pred.Expression],
    events: Sequence[EventDeclaration],
    source: Source,
) -> None:
    for side in sides:
        _check_names(side, events, source)
    kinds = [tuple(_kind(side, event) for side in sides) for event in events]
    if all(left is None or right is None or left != right for left, right in kinds):
        left, right = next((pair for pair in kinds if None not in pair), kinds[0])
        kinds_text = " with ".join(
            f"{kind or 'nothing'} ({expression_text(side)})"
            for side, kind in zip(sides, (left, right), strict=True)
        )
        values = [side.value for side in sides if isinstance(side, pred.Constant)]
        raise TypeMismatch(
            "CER0303",
            f"{predicate_text(P)} can never hold: it compares {kinds_text}",
            place=source.place(P),
            hint=literal_hint({*filter(None, (left, right))}, values) or _SAME_KIND,
        )


def check_correlation(
    comparison: Correlation, events: Mapping[str, Sequence[EventDeclaration]], source: Source
) -> None:
    """Raise `TypeMismatch` if a comparison of labels has different kinds on its sides.

    Raise `TypeMismatch` if its sides are of different kinds for every choice of types.
    """
    for operand in comparison.operands:
        _check_sum(operand, comparison, events, source)
    ways = [dict(zip(events, way, strict=True)) for way in product(*events.values())]
    sides = (comparison.left, comparison.right)
    ours, theirs = ({kind for way in ways if (kind := _kind(x, None, way))} for x in sides)
    # a side without a kind is unknown, so it may be of any kind
    if ours and theirs and ours.isdisjoint(theirs):
        values = pred.constants([pred.Comparison(comparison.operator, *sides)])
        raise TypeMismatch(
            "CER0303",
            f"{predicate_text(comparison)} can never hold: it compares {' or '.join(sorted(ours))}"
            f" with {' or '.join(sorted(theirs))}",
            place=source.place(comparison),
            hint=literal_hint(ours | theirs, values) or _SAME_KIND,
        )


def _check_sum(
    operand: pred.LabelLeaf,
    comparison: Correlation,
    events: Mapping[str, Sequence[EventDeclaration]],
    source: Source,
) -> None:
    """Raise `TypeMismatch` for a sum or mean of an attribute that is never a number or duration."""
    if not isinstance(operand, pred.OfGroup) or operand.attribute is None:
        return
    of_one = pred.Attribute(operand.attribute)
    kinds = {kind for event in events[operand.label] if (kind := _kind(of_one, event))}
    if kinds and not any(kind_of_group(operand.function, kind) for kind in kinds):
        text = expression_text(operand)
        raise TypeMismatch(
            "CER0303",
            f"{text} has no value: {operand.attribute} is {' or '.join(sorted(kinds))}",
            place=source.place(operand) or source.place(comparison),
            hint="SUM and AVG need numbers or durations; COUNT(DISTINCT ..) accepts all values",
        )


def _check_names(
    expression: pred.Expression, events: Sequence[EventDeclaration], source: Source
) -> None:
    match expression:
        case pred.Attribute("type" | "stream") | pred.Constant():
            pass
        case pred.Attribute(name):
            if not any(event.attribute(name) for event in events):
                names = [each.name for event in events for each in event.attributes]
                carriers = " or ".join(sorted({event.name for event in events}))
                raise TypeMismatch(
                    "CER0302",
                    f"{carriers} has no attribute '{name}'",
                    place=source.place(expression),
                    hint=nearest(name, names),
                )
        case pred.Computed(_, left, right):
            _check_names(left, events, source)
            _check_names(right, events, source)
        case pred.Negated(operand):
            _check_names(operand, events, source)
        case _:
            raise AssertionError("predicates read only one event")


def _kind(
    expression: pred.Expression,
    event: EventDeclaration | None,
    of_labels: Mapping[str, EventDeclaration] = MappingProxyType({}),
) -> str | None:
    """Return the kind of an expression's values on events of a type; None if unknown."""
    match expression:
        case pred.Constant(value):
            return kind_of(value)
        case pred.Attribute("type" | "stream"):
            return "text"
        case pred.Attribute(name):
            declaration = None if event is None else event.attribute(name)
            return KIND_OF_TYPE[declaration.type] if declaration else None
        case (
            pred.LabelAttribute(label, name)
            | pred.RegisterAttribute(label, name)
            | pred.Previous(label, name)
        ):
            return _kind(pred.Attribute(name), of_labels.get(label))
        case pred.OfGroup(function, label, name):
            of_one = None if name is None else _kind(pred.Attribute(name), of_labels.get(label))
            return kind_of_group(function, of_one)
        case pred.Computed(op, left, right):
            sides = (_kind(side, event, of_labels) for side in (left, right))
            return kind_of_result(op, *sides)
        case pred.Negated(operand):
            kind = _kind(operand, event, of_labels)
            return kind if kind in ("number", "duration") else None
        case _:
            assert_never(expression)


def _nearest_label(label: str, body: cel.Formula) -> str:
    """Return a hint with the labels of a formula, the most similar name first."""
    labels = cel.defined_labels(body)
    hint = nearest(label, labels)
    if hint.startswith("did you"):
        return hint
    types = {psi.type for psi in cel.subformulas(body) if isinstance(psi, cel.Atom)}
    by_nearness = sorted(labels, key=lambda x: (x in types, abs(len(x) - len(label)), x))
    return f"known: {', '.join(by_nearness)}"


def _across_unless(
    whole: cel.Formula, label: str, filtered: cel.Filter, condition: Condition
) -> str:
    """Return the hint if a FILTER uses a label of the other side of an UNLESS, or an empty text."""
    keys = {x.attribute for each in atomics(condition) for x in _operands(each) if x.attribute}
    key = ", ".join(map(name_text, sorted(keys))) or "k"
    by_key = f"PARTITION BY [{key}] compares it" if len(keys) == 1 else "PARTITION BY compares keys"
    for psi in cel.subformulas(whole):
        if not isinstance(psi, cel.Unless):
            continue
        is_right = any(each is filtered for each in cel.subformulas(psi.right))
        if is_right and label in cel.defined_labels(psi.left):
            return f"the right side of UNLESS does not see label {label}; {by_key}"
    for psi in cel.subformulas(filtered.body):
        if isinstance(psi, cel.Unless) and label in cel.defined_labels(psi.right):
            return (
                f"only the right side of UNLESS sets label {label}, which no answer has; {by_key}"
            )
    return ""


def _operands(condition: Atomic) -> Iterable[pred.LabelLeaf]:
    return condition.operands if isinstance(condition, Correlation) else ()


@dataclass(frozen=True, slots=True)
class Remark:
    """A warning about a part of a query that has no effect or an unexpected one."""

    code: str
    message: str
    place: SourcePlace | None = None

    def __str__(self) -> str:
        where = f" ({self.place.describe()})" if self.place else ""
        return f"{self.code}: {self.message}{where}"


def remarks(query: CeqlQuery, source: Source) -> Iterator[Remark]:
    """Yield warnings about parts of a query without effect, such as labels that are never set."""
    for psi in cel.subformulas(query.formula):
        match psi:
            case cel.Filter(body, condition):
                labels = cel.defined_labels(body)
                for label in sorted(labels_of(condition) - labels):
                    yield Remark(
                        "CER0901",
                        f"nothing sets label '{label}', so {_effect_of_unset(label, condition)}; "
                        + (
                            _across_unless(query.formula, label, psi, condition)
                            or _nearest_label(label, body)
                        ),
                        source.place(condition),
                    )
                yield from _percents(condition, source)
                if counted := counted_in_window(query, psi):
                    yield _of_chosen(*counted, source.place(condition))
            case cel.Project(_, body):
                labels = cel.defined_labels(body)
                for label in sorted(cel.kept_labels(psi) - labels):
                    yield _unset_label(f"PROJECT[{label}]", label, body, source.place(psi))
            case cel.Rename(old, _, body):
                labels = cel.defined_labels(body)
                if old not in labels:
                    yield _unset_label(f"RENAME[{old} -> ..]", old, body, source.place(psi))
            case cel.Unless(body, cel.Atom() as atom) if _is_met(atom, body):
                yield Remark(
                    "CER0918",
                    f"the left side of UNLESS contains {atom.type} itself, so it has no answer; "
                    f"no further one is UNLESS ({atom.type} ; {atom.type})",
                    source.place(psi),
                )
            case cel.Unless(body, other) if _are_apart(body, other):
                after, before = (
                    f"({formula_text(of(body, SOME_TIME))}) UNLESS {_grouped(other)}"
                    for of in (cel.Wait, cel.Lookback)
                )
                yield Remark(
                    "CER0918",
                    "the left side of UNLESS is one event, inside which the right side never is, "
                    f"so all are answers; write {after} for a time after it, {before} for a time "
                    "before it",
                    source.place(psi),
                )
            case cel.Within(body, window):
                yield from _narrow_window(body, window, source.place(psi))
            case cel.Wait(body, length):
                if query.window is not None:
                    yield from _narrow("WAIT", length, query.window, source.place(psi))
                if isinstance(body, cel.Wait):
                    yield Remark(
                        "CER0917",
                        "the second WAIT counts from the last event inside the first one, not from "
                        "its end; one WAIT of the sum waits longer",
                        source.place(psi),
                    )
            case cel.Lookback(body, length):
                if query.window is not None:
                    yield from _narrow("LOOKBACK", length, query.window, source.place(psi))
                if isinstance(body, cel.Lookback):
                    yield Remark(
                        "CER0923",
                        "the second LOOKBACK counts from the first event inside the first one, not "
                        "from its beginning; one LOOKBACK of the sum looks back further",
                        source.place(psi),
                    )
            case _:
                pass
    labels = cel.defined_labels(query.formula) if query.items else frozenset[str]()
    for item in query.items or ():
        if item.label not in labels:
            text = label_text(item.stream, item.label)
            yield _unset_label(f"SELECT {text}", item.label, query.formula, source.place(item))
    if query.window is not None and (compares := compared_inside(query)) is not None:
        strategy, with_inner = compares
        yield Remark(
            "CER0924",
            f"{strategy.value} compares answers before WITHIN removes long ones; to compare inside "
            f"the window write {' '.join(query_text(with_inner).splitlines())}",
        )
    if query.throttle == EventWindow(1):
        message = "THROTTLE 1 EVENTS leaves out no answer: the next end is one event later, or more"
        yield Remark("CER0922", message, source.place(query.throttle))
    for bracket in query.partition:
        if len(bracket) > 1:
            yield Remark(
                "CER0903",
                f"PARTITION BY [{', '.join(bracket)}] is a key of {len(bracket)} attributes; "
                "some engines read one bracket as alternatives",
            )


def _of_chosen(count: pred.OfGroup, inside: cel.Filter, place: SourcePlace | None) -> Remark:
    """Return the remark that each choice of events is tested by a condition on their count."""
    ways = len({x for each in atomics(inside.condition) for x in _operands(each)})
    return Remark(
        "CER0926",
        f"{expression_text(count)} counts the chosen events, and each choice is tested; to count "
        f"all of the window write {formula_text(inside)}; "
        + recipe_text(
            "More than half of the calls fail" if ways > 1 else "Fewer than three in ten minutes"
        ),
        place,
    )


def _effect_of_unset(label: str, condition: Condition) -> str:
    """Return the constant result of a filter with a label that is never set, for a message."""
    compared = [x for x in cond.atomics(condition) if label in labels_of(x)]
    operands = [
        operand
        for each in compared
        if isinstance(each, Correlation) and label not in each.variables
        for operand in each.operands
        if operand.label == label
    ]
    if not operands:
        return "this filter always holds"
    values = {
        f"{expression_text(x)} is {0 if x.function in _COUNTS else 'nothing'}"
        for x in operands
        if isinstance(x, pred.OfGroup)
    }
    is_empty = any(isinstance(x, pred.OfGroup) and x.function not in _COUNTS for x in operands)
    return " and ".join(sorted(values)) + ", with which nothing compares" * is_empty


_COUNTS = (pred.Group.COUNT, pred.Group.DISTINCT)


def _narrow_window(
    body: cel.Formula, window: Window, place: SourcePlace | None
) -> Iterator[Remark]:
    """Yield warnings about windows too narrow for the formula inside."""
    for length in cel.waits(body):
        yield from _narrow("WAIT", length, window, place)
    for length in cel.look_backs(body):
        yield from _narrow("LOOKBACK", length, window, place)


def _narrow(
    word: str,
    length: TimeWindow | AttributeWindow,
    window: Window,
    place: SourcePlace | None,
) -> Iterator[Remark]:
    """Yield the warning about a window narrower than a wait or look-back inside it."""
    if length.width > window.width and axis_of(length) == axis_of(window):
        code, inside = "CER0917", "waits that end with an earlier event"
        if word == "LOOKBACK":
            code, inside = "CER0923", "look-backs that begin with a later event"
        yield Remark(
            code,
            f"WITHIN {window_text(window)} is narrower than {word} {window_text(length)}: only "
            f"{inside} are inside",
            place,
        )


def _is_met(atom: cel.Atom, phi: cel.Formula) -> bool:
    """Return whether every answer of a formula contains an event that `atom` describes."""
    match phi:
        case cel.Atom():
            return phi.type == atom.type and atom.stream in (None, phi.stream)
        case cel.Or(left, right):
            return _is_met(atom, left) and _is_met(atom, right)
        case cel.Not():
            return False
        case cel.Unless(left, _):
            return _is_met(atom, left)
        case _:
            return any(_is_met(atom, psi) for psi in cel.children(phi))


def _grouped(phi: cel.Formula) -> str:
    text = formula_text(phi)
    return text if isinstance(phi, cel.Atom) else f"({text})"


def _are_apart(body: cel.Formula, other: cel.Formula) -> bool:
    """Return whether one formula takes a single event and the other surely takes other events."""
    left = None if any(cel.waits(body)) else _only_event(body)
    right = _only_event(other)
    if left is None:
        return False
    return _fewest(other) > 1 if right is None else left != right


def _fewest(phi: cel.Formula) -> int:
    """Return a lower bound on the number of events in an answer's interval."""
    match phi:
        case cel.Seq(left, right) | cel.Concat(left, right):
            return _fewest(left) + _fewest(right)
        case cel.Or(left, right):
            return min(_fewest(left), _fewest(right))
        case cel.Count(body, least):
            return least * _fewest(body)
        case cel.Unless(left, _):
            return _fewest(left)
        case _:
            return max(map(_fewest, cel.children(phi)), default=1)


def _only_event(phi: cel.Formula) -> str | None:
    """Return the event type of a formula whose answers are one event; None for other formulas."""
    match phi:
        case cel.Atom():
            return phi.type
        case cel.As(body, _) | cel.Filter(body, _) | cel.Wait(body, _) | cel.Within(body, _):
            return _only_event(body)
        case _:
            return None


def _percents(condition: Condition, source: Source) -> Iterator[Remark]:
    """Yield a warning for each LIKE pattern with the wildcards of SQL."""
    for each in cond.atomics(condition):
        for atom in atoms(each.predicate) if isinstance(each, cond.On) else ():
            if isinstance(atom, Like) and "%" in atom.pattern:
                search = f"LIKE '{as_search(atom.pattern)}'"
                yield Remark(
                    "CER0911",
                    "LIKE searches for a regular expression of RE2, where % is not a wildcard; "
                    f"what SQL means is {search}",
                    source.place(condition),
                )


def as_search(pattern: str) -> str:
    """Return the regular expression for an SQL LIKE pattern.

    >>> print(*(as_search(pattern) for pattern in ("IN%", "%TC", "%N%", "I_TC%", "a.b%")))
    ^IN TC$ N ^I.TC ^a\\.b
    """
    wild = {"%": ".*", "_": "."}
    inner = "".join(wild.get(c) or re.escape(c) for c in pattern.strip("%"))
    begin, end = not pattern.startswith("%"), not pattern.endswith("%")
    return "^" * begin + inner + "$" * end


def _unset_label(
    construct: str, label: str, body: cel.Formula, place: SourcePlace | None
) -> Remark:
    hint = _nearest_label(label, body)
    return Remark("CER0902", f"{construct} gives nothing: no part sets '{label}'; {hint}", place)


def check_query(query: CeqlQuery, schema: Schema, source: Source) -> None:
    """Check every name and comparison of a query; raise `TypeMismatch` with place and hint."""
    for stream in query.streams:
        _check_stream(stream, schema, None)
    check_formula(query.formula, schema, source)
    everywhere = schema.attribute_names()
    types = label_types(query.formula)
    for attribute in partition_attributes(query):
        _check_attribute(attribute, everywhere, None)
    sums = [(a.label, a.attribute) for a in query.aggregates if a.label and a.attribute]
    aggregate_items = [
        SelectItem(x, (a,)) for x, a in (*sums, *(g for g in query.groups if len(g) == 2))
    ]
    for item in (*(query.items or ()), *aggregate_items):
        event_types = types.get(item.label, frozenset())
        events = _declarations(event_types, item.stream, schema, source.place(item))
        names = [attribute.name for event in events for attribute in event.attributes]
        for attribute in item.attributes:
            _check_attribute(attribute, names, source.place(item))
    for window in (query.window, *cel.windows(query.formula)):
        if not isinstance(window, AttributeWindow):
            continue
        attribute = window.attribute
        _check_attribute(attribute, everywhere, None)
        for event_name in schema.event_names():
            event = schema.event(event_name)
            declaration = event.attribute(attribute) if event else None
            if declaration and declaration.type not in (AttributeType.INT, AttributeType.DOUBLE):
                raise TypeMismatch(
                    "CER0305",
                    f"WITHIN .. [{attribute}] needs a number, {event_name} declares "
                    f"{declaration.type.value}",
                    hint="for a timestamp write HOURS, MINUTES or SECONDS",
                )


def check_formula(phi: cel.Formula, schema: Schema, source: Source) -> None:
    """Check every name and comparison of a formula; raise `TypeMismatch` with place and hint."""
    for psi in cel.subformulas(phi):
        if isinstance(psi, cel.Atom):
            _check_type(psi, schema, source)
    for psi in cel.subformulas(phi):
        if isinstance(psi, cel.Project):
            types = label_types(psi.body)
            for stream, label in sorted(psi.of_streams):
                _declarations(types.get(label, frozenset()), stream, schema, source.place(psi))
        if isinstance(psi, cel.Filter):
            types = label_types(psi.body)
            for atomic in cond.atomics(psi.condition):
                _check_atomic(atomic, types, schema, source)


def _check_atomic(
    atomic: Atomic, types: Mapping[str, frozenset[str]], schema: Schema, source: Source
) -> None:
    def declarations_of(label: str) -> list[EventDeclaration]:
        return [e for name in types.get(label, ()) if (e := schema.event(name))]

    if isinstance(atomic, cond.On):
        stream, P = split_stream(atomic.predicate)
        event_types = types.get(atomic.label, frozenset())
        if events := _declarations(event_types, stream, schema, source.place(atomic)):
            check_predicate(P, events, source)
        return
    sides: list[pred.LabelAttribute | SetOf] = []
    if isinstance(atomic, cond.Application):
        sides += [a for a in atomic.arguments if isinstance(a, SetOf)]
    else:
        sides += atomic.attributes
    for side in sides:
        if types.get(side.label) and side.attribute is not None:
            names = _attributes_of(types[side.label], schema)
            _check_attribute(side.attribute, names, source.place(atomic))
    if isinstance(atomic, cond.Correlation):
        check_correlation(atomic, {x: declarations_of(x) for x in atomic.labels}, source)


def label_types(phi: cel.Formula) -> dict[str, frozenset[str]]:
    """Return the event types that each label may have."""
    match phi:
        case cel.Atom(R, _):
            return {R: frozenset({R})}
        case cel.As(body, label):
            inner = label_types(body)
            return {**inner, label: frozenset[str]().union(*inner.values())}
        case cel.Project(_, body):
            labels = cel.kept_labels(phi)
            return {X: types for X, types in label_types(body).items() if X in labels}
        case cel.Rename(old, new, body):
            inner = label_types(body)
            old_types = inner.pop(old, frozenset())
            return {**inner, new: inner.get(new, frozenset()) | old_types}
        case cel.Unless(left, _):
            return label_types(left)
        case cel.Not():
            return {}
        case _:
            types_of: dict[str, frozenset[str]] = {}
            for child in cel.children(phi):
                for label, types in label_types(child).items():
                    types_of[label] = types_of.get(label, frozenset()) | types
            return types_of


def _declarations(
    types: Iterable[str], stream: str | None, schema: Schema, place: SourcePlace | None
) -> list[EventDeclaration]:
    """Return the declarations of event types; raise `TypeMismatch` if a stream has none of them."""
    if stream is not None:
        _check_stream(stream, schema, place)
    names = sorted(types)
    events = [event for name in names if (event := schema.event(name, stream))]
    if stream is not None and names and not events:
        raise _undeclared_type(f"stream '{stream}'", names[0], schema, place)
    return events


def _attributes_of(types: Iterable[str], schema: Schema) -> list[str]:
    events = filter(None, map(schema.event, types))
    return [attribute.name for event in events for attribute in event.attributes]


def _check_type(atom: cel.Atom, schema: Schema, source: Source) -> None:
    if atom.stream is not None:
        _check_stream(atom.stream, schema, source.place(atom))
    if schema.event(atom.type, atom.stream) is None:
        carrier = f"stream '{atom.stream}'" if atom.stream else "the schema"
        raise _undeclared_type(carrier, atom.type, schema, source.place(atom))


def _undeclared_type(
    carrier: str, name: str, schema: Schema, place: SourcePlace | None
) -> TypeMismatch:
    message = f"{carrier} declares no event type '{name}'"
    hint = nearest(name, schema.event_names())
    return TypeMismatch("CER0301", message, place=place, hint=hint)


def _check_stream(name: str, schema: Schema, place: SourcePlace | None) -> None:
    names = [stream.name for stream in schema.streams]
    if name not in names:
        raise TypeMismatch(
            "CER0304", f"unknown stream '{name}'", place=place, hint=nearest(name, names)
        )


def _check_attribute(name: str, attributes: Iterable[str], place: SourcePlace | None) -> None:
    names = list(attributes)
    if name not in names and name not in ("type", "stream"):
        raise TypeMismatch(
            "CER0302", f"unknown attribute '{name}'", place=place, hint=nearest(name, names)
        )
