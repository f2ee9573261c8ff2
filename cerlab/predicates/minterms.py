"""Minterms: the truth vectors of some predicates that events can have.

Atoms that share an attribute are decided together. Where all of them compare one attribute with
constants, the decision is by representatives: on a line cut at finitely many constants, the
constants and one value from each gap realise everything that can be realised. What is left
(arithmetic, several attributes, LIKE) goes to z3, in `smt`; arithmetic is over the rationals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from typing import NamedTuple, TypeAlias, assert_never

from cerlab.errors import ResourceLimit
from cerlab.model.event import Event, Timestamp, Value
from cerlab.model.schema import AttributeType, EventDeclaration, Schema
from cerlab.predicates.syntax import (
    Atom,
    Attribute,
    Between,
    Comparison,
    Complement,
    Computed,
    Conjunction,
    Constant,
    Disjunction,
    Everything,
    Expression,
    Like,
    Member,
    Negated,
    Operator,
    Predicate,
    StreamIs,
    TypeIs,
    atoms,
)
from cerlab.predicates.truth import evaluate, kind_of, satisfies

MAX_MINTERMS = 50_000

INT64 = range(-(2**63), 2**63)

NOWHERE = Event("nowhere")
"""An event to evaluate what mentions no attribute."""


@dataclass(frozen=True, slots=True)
class Minterm:
    """A truth vector (bit k: ``predicates[k]`` holds) and an event that has it.

    Without an example it is not decided whether an event has the vector.
    """

    symbol: int
    example: Event | None


class Domain(NamedTuple):
    """What an attribute can hold: values of the declared type, of every kind if there is none."""

    type: AttributeType | None = None
    nullable: bool = True


class Choice(NamedTuple):
    """A truth vector of some atoms and the values that give it, None if no values are known."""

    vector: tuple[bool, ...]
    values: tuple[tuple[str, Value], ...] | None


class _Events(NamedTuple):
    """A set of events: what `known` names is so, every other attribute varies in its domain."""

    known: Mapping[str, Value]
    domains: Mapping[str, Domain]
    example: Mapping[str, Value]
    """What an example holds where the predicates leave it open."""


def minterms(
    predicates: Sequence[Predicate],
    *,
    schema: Schema | None = None,
    fixed: Mapping[str, Value] | None = None,
) -> tuple[Minterm, ...]:
    """All truth vectors that events can have, in a fixed order, each once.

    With a `schema`, events are those it declares: each attribute of the type is there and of its
    type (a double may be NaN), or NULL where that is allowed, and there are no others; the stream
    is a declared one or not known. Attributes that are `fixed` have exactly these values.

    A vector that no event has is not listed where that is decided, and a vector without example
    is not decided. Arithmetic is decided over the rationals: what holds by rounding or overflow
    alone is not looked for. Raises `ResourceLimit` above `MAX_MINTERMS` combinations, ValueError
    for a LIKE whose pattern is none.

    >>> low = Comparison(Operator.LT, Attribute("v"), Constant(1))
    >>> high = Comparison(Operator.GT, Attribute("v"), Constant(2))
    >>> [(each.symbol, each.example.attributes) for each in minterms([low, high])]
    [(0, {'v': 1}), (1, {'v': 0}), (2, {'v': 3})]
    """
    every = tuple(dict.fromkeys(atom for P in predicates for atom in atoms(P)))
    found: dict[int, Minterm] = {}
    for events in _event_sets(schema, fixed or {}, mentioned(every)):
        for minterm in _minterms_among(predicates, every, events):
            if found.setdefault(minterm.symbol, minterm).example is None:
                found[minterm.symbol] = minterm
    return tuple(found.values())


def _minterms_among(
    predicates: Sequence[Predicate], every: Sequence[Atom], events: _Events
) -> Iterator[Minterm]:
    """The minterms of one set of events; one without example may come again with one."""
    reduced = {atom: substituted(atom, events.known) for atom in every}
    groups = components(tuple(dict.fromkeys(reduced.values())))
    choices = [_choices(group, events.domains) for group in groups]
    if math.prod(map(len, choices)) > MAX_MINTERMS:
        raise ResourceLimit("CER0608", f"more than {MAX_MINTERMS:,} minterms")
    done: set[int] = set()
    for chosen in product(*choices):
        held = {
            atom: holds
            for group, choice in zip(groups, chosen, strict=True)
            for atom, holds in zip(group, choice.vector, strict=True)
        }
        truth = {atom: held[reduced[atom]] for atom in every}
        symbol = sum(1 << bit for bit, P in enumerate(predicates) if _holds(P, truth))
        if symbol not in done:
            example = _example(chosen, events)
            if example is not None and not has_symbol(example, predicates, symbol):
                example = None
            if example is not None:
                done.add(symbol)
            yield Minterm(symbol, example)


def has_symbol(event: Event, predicates: Sequence[Predicate], symbol: int) -> bool:
    """Whether the event has this truth vector."""
    return all(satisfies(event, P) == bool(symbol >> bit & 1) for bit, P in enumerate(predicates))


def _holds(P: Predicate, truth: Mapping[Atom, bool]) -> bool:
    match P:
        case Everything():
            return True
        case Conjunction(left, right):
            return _holds(left, truth) and _holds(right, truth)
        case Disjunction(left, right):
            return _holds(left, truth) or _holds(right, truth)
        case Complement(inner):
            return not _holds(inner, truth)
        case atom:
            return truth[atom]


def _example(chosen: Iterable[Choice], events: _Events) -> Event | None:
    values = dict(events.example)
    for choice in chosen:
        if choice.values is None:
            return None
        values.update(choice.values)
    return event_of(values)


def event_of(values: Mapping[str, Value]) -> Event:
    """The event with these values; ``type`` and ``stream`` name those two.

    >>> event_of({"stream": "S", "v": 1})
    Event(type='other', attributes={'v': 1}, stream='S')
    """
    event_type = values.get("type", "other")
    stream = values.get("stream")
    assert isinstance(event_type, str)
    assert isinstance(stream, str | None)
    rest = {name: value for name, value in values.items() if name not in ("type", "stream")}
    return Event(event_type, rest, stream)


def _event_sets(
    schema: Schema | None, fixed: Mapping[str, Value], names: Sequence[str]
) -> Iterator[_Events]:
    """All events, as a union of sets in which each attribute varies on its own."""
    if schema is None:
        if all(allows(name, domain_of(name, {}), value) for name, value in fixed.items()):
            yield _Events(fixed, {}, fixed)
        return
    every: dict[tuple[str | None, EventDeclaration], None] = {}
    for stream in schema.streams:
        for event in stream.events:
            every[stream.name, schema.event(event.name, stream.name) or event] = None
    if "stream" in names:
        for name in schema.event_names():
            if (event_read := schema.event(name)) is not None:
                every[None, event_read] = None
    for stream_name, declaration in every:
        own: dict[str, Value] = {"type": declaration.name, "stream": stream_name}
        domains = {
            each.name: Domain(each.type, each.nullable)
            for each in declaration.attributes
            if each.name not in own
        }
        absent: dict[str, Value] = {
            name: None for name in (*names, *fixed) if name not in domains and name not in own
        }
        if all(
            allows(name, domains[name], value)
            if name in domains
            else value == {**absent, **own}[name]
            for name, value in fixed.items()
        ):
            defaults = {name: candidates(name, domain, ())[0] for name, domain in domains.items()}
            declared_only = {name: value for name, value in fixed.items() if name in domains}
            known = {**absent, **declared_only, **own}
            yield _Events(known, domains, {**defaults, **declared_only, **own})


def domain_of(name: str, domains: Mapping[str, Domain]) -> Domain:
    """The domain of an attribute; the type of an event is a text, its stream may be not known."""
    if name in ("type", "stream"):
        return Domain(AttributeType.STRING, name == "stream")
    return domains.get(name, Domain())


def allows(name: str, domain: Domain, value: Value) -> bool:
    """Whether an attribute can hold a value.

    >>> allows("v", Domain(AttributeType.INT), 1.0), allows("v", Domain(AttributeType.INT), 1.5)
    (True, False)
    """
    if value is None:
        return domain.nullable
    match domain.type:
        case None:
            return True
        case AttributeType.INT:
            return _is_int64(value)
        case AttributeType.DOUBLE:
            return isinstance(value, float) or kind_of(value) == "number"
        case AttributeType.STRING:
            return isinstance(value, str) and (name != "type" or value != "")
        case AttributeType.BOOLEAN:
            return isinstance(value, bool)
        case AttributeType.TIMESTAMP:
            return isinstance(value, Timestamp)
        case _:
            assert_never(domain.type)


def mentioned(group: Iterable[Atom]) -> tuple[str, ...]:
    """The attributes that some atoms mention, from left to right."""
    leaves = (leaf for atom in group for operand in operands(atom) for leaf in _leaves(operand))
    return tuple(dict.fromkeys(leaf.name for leaf in leaves if isinstance(leaf, Attribute)))


def constants(group: Iterable[Atom]) -> tuple[Value, ...]:
    """The constants that some atoms compare or compute with, from left to right."""
    leaves = (leaf for atom in group for operand in operands(atom) for leaf in _leaves(operand))
    return tuple(leaf.value for leaf in leaves if isinstance(leaf, Constant))


def _leaves(expression: Expression) -> Iterator[Attribute | Constant]:
    match expression:
        case Attribute() | Constant():
            yield expression
        case Computed(_, left, right):
            yield from _leaves(left)
            yield from _leaves(right)
        case Negated(inner):
            yield from _leaves(inner)
        case _:
            assert_never(expression)


def operands(atom: Atom) -> tuple[Expression, ...]:
    """The expressions that an atom compares, constants among them."""
    match atom:
        case TypeIs(name):
            return (Attribute("type"), Constant(name))
        case StreamIs(name):
            return (Attribute("stream"), Constant(name))
        case Comparison(_, left, right):
            return (left, right)
        case Member(operand, values):
            return (operand, *values)
        case Between(operand, low, high):
            return (operand, *(bound for bound in (low, high) if bound is not None))
        case Like(operand, _):
            return (operand,)
        case _:
            assert_never(atom)


def substituted(atom: Atom, known: Mapping[str, Value]) -> Atom:
    """The atom with the known attributes as constants, and each constant expression evaluated.

    >>> substituted(Comparison(Operator.EQ, Attribute("v"), Attribute("w")), {"w": 3})
    Comparison(operator=<Operator.EQ: '='>, left=Attribute(name='v'), right=Constant(value=3))
    """

    def put(expression: Expression) -> Expression:
        match expression:
            case Constant():
                return expression
            case Attribute(name):
                return Constant(known[name]) if name in known else expression
            case Computed(op, left, right):
                made: Expression = Computed(op, put(left), put(right))
            case Negated(inner):
                made = Negated(put(inner))
            case _:
                assert_never(expression)
        is_constant = not any(isinstance(leaf, Attribute) for leaf in _leaves(made))
        return Constant(evaluate(NOWHERE, made)) if is_constant else made

    match atom:
        case TypeIs(name):
            return Comparison(Operator.EQ, put(Attribute("type")), Constant(name))
        case StreamIs(name) if "stream" in known:
            stream = Constant(name if known["stream"] is None else known["stream"])
            return Comparison(Operator.EQ, stream, Constant(name))
        case StreamIs():
            return atom
        case Comparison(op, left, right):
            return Comparison(op, put(left), put(right))
        case Between(operand, low, high, negated):
            bounds = [None if bound is None else put(bound) for bound in (low, high)]
            return Between(put(operand), bounds[0], bounds[1], negated)
        case Member() | Like():
            return replace(atom, operand=put(atom.operand))
        case _:
            assert_never(atom)


def components(every: Sequence[Atom]) -> tuple[tuple[Atom, ...], ...]:
    """The finest grouping in which atoms that share an attribute are together, in order.

    >>> v, w = (Comparison(Operator.GT, Attribute(name), Constant(0)) for name in "vw")
    >>> components([v, w, TypeIs("A")]) == ((v,), (w,), (TypeIs("A"),))
    True
    """
    groups: list[tuple[set[str], list[Atom]]] = []
    for atom in every:
        names = set(mentioned([atom]))
        touching = [group for group in groups if not names.isdisjoint(group[0])]
        groups = [group for group in groups if names.isdisjoint(group[0])]
        joined = [each for _, group in touching for each in group]
        groups.append((names.union(*(own for own, _ in touching)), [*joined, atom]))
    number = {atom: n for n, atom in enumerate(every)}
    ordered = [tuple(sorted(group, key=number.__getitem__)) for _, group in groups]
    return tuple(sorted(ordered, key=lambda group: number[group[0]]))


def _choices(group: tuple[Atom, ...], domains: Mapping[str, Domain]) -> tuple[Choice, ...]:
    """One choice for each truth vector of a component that events have, or that is undecided."""
    of = tuple((name, domain_of(name, domains)) for name in mentioned(group))
    if not of:
        return (Choice(tuple(satisfies(NOWHERE, atom) for atom in group), ()),)
    if len(of) == 1 and all(map(_is_simple, group)):
        return by_representatives(group, *of)
    from cerlab.predicates.smt import by_solver

    return by_solver(group, of)


def _is_simple(atom: Atom) -> bool:
    """Whether an atom only compares an attribute with itself and with constants."""
    plain = all(isinstance(operand, Constant | Attribute) for operand in operands(atom))
    return plain and not isinstance(atom, Like)


def by_representatives(group: Sequence[Atom], of: tuple[str, Domain]) -> tuple[Choice, ...]:
    """The choices of atoms that compare one attribute with constants."""
    name, domain = of
    found: dict[tuple[bool, ...], Choice] = {}
    for value in candidates(name, domain, constants(group)):
        event = event_of({name: value})
        vector = tuple(satisfies(event, atom) for atom in group)
        found.setdefault(vector, Choice(vector, ((name, value),)))
    return tuple(found.values())


def representatives(constants: Iterable[Value]) -> tuple[Value, ...]:
    """NULL, each constant, and a value from each gap between and beyond them, of every kind.

    >>> representatives([1, 3])
    (1, 3, 2, 0, 4, True, False, 'other', None)
    """
    listed = tuple(constants)
    kinds: list[AttributeType | None] = [None, AttributeType.BOOLEAN, AttributeType.STRING]
    if any(isinstance(value, Timestamp) for value in listed):
        kinds.append(AttributeType.TIMESTAMP)
    return (*(value for kind in kinds for value in _of_type(kind, listed)), None)


def candidates(name: str, domain: Domain, constants: Iterable[Value]) -> tuple[Value, ...]:
    """Values of an attribute that realise all that its comparisons with the constants can be.

    >>> candidates("v", Domain(AttributeType.INT, nullable=False), [1, 2.5])
    (1, 0, 2, 3)
    """
    if domain.type is None:
        return representatives(constants)
    # The smallest type is not the empty text but what comes after it.
    listed = [*constants, *([""] if name == "type" else [])]
    values = [value for value in _of_type(domain.type, listed) if allows(name, domain, value)]
    return (*values, *([None] if domain.nullable else []))


def _of_type(kind: AttributeType | None, constants: Iterable[Value]) -> tuple[Value, ...]:
    """The representatives of one type; of all numbers if there is none."""
    listed = tuple(constants)
    match kind:
        case None:
            return _cut(listed, _number_between)
        case AttributeType.INT:
            ends = (INT64.start - 1, INT64.stop)
            return tuple(int(n) for n in _cut((*listed, *ends), _integer_between) if _is_int64(n))
        case AttributeType.DOUBLE:
            floats = [_nearest(n) for n in _cut(listed, _float_between) if _nearest(n) == n]
            return (*floats, math.nan)
        case AttributeType.STRING:
            texts = sorted({value for value in listed if isinstance(value, str)})
            gaps = [
                text_after(low, high) for low, high in pairwise([*texts, None]) if low is not None
            ]
            return tuple(dict.fromkeys(("other", *texts, *gaps, *([""] if texts else []))))
        case AttributeType.BOOLEAN:
            return (True, False)
        case AttributeType.TIMESTAMP:
            moments = [value.nanoseconds for value in listed if isinstance(value, Timestamp)]
            return tuple(Timestamp(int(n)) for n in _cut(moments, _integer_between))
        case _:
            assert_never(kind)


_Between: TypeAlias = Callable[[float | None, float | None], float | None]


def _cut(constants: Iterable[Value], between: _Between) -> tuple[float, ...]:
    """The numbers among the constants and what is `between` and beyond them."""
    line = sorted({n for n in constants if isinstance(n, int | float) and kind_of(n) == "number"})
    if not line:
        gaps = [between(None, None)]
    else:
        gaps = [between(low, high) for low, high in pairwise(line)]
        gaps += [between(None, line[0]), between(line[-1], None)]
    return (*line, *(number for number in gaps if number is not None))


def _number_between(low: float | None, high: float | None) -> float | None:
    whole = _integer_between(low, high)
    return whole if whole is not None else _float_between(low, high)


def _integer_between(low: float | None, high: float | None) -> int | None:
    """The integer nearest to 0 above `low` and below `high`, None if there is none."""
    if low == math.inf or high == -math.inf:
        return None
    start = None if low is None or low == -math.inf else math.floor(low) + 1
    stop = None if high is None or high == math.inf else math.ceil(high) - 1
    if start is not None and stop is not None and start > stop:
        return None
    if start is not None and start > 0:
        return start
    return stop if stop is not None and stop < 0 else 0


def _float_between(low: float | None, high: float | None) -> float | None:
    """A float above `low` and below `high`, a round one if possible; None if there is none."""
    tried: list[float] = []
    if (whole := _integer_between(low, high)) is not None:
        tried.append(_nearest(whole))
    if low is not None and high is not None and is_finite(low) and is_finite(high):
        tried.append(_nearest((Fraction(low) + Fraction(high)) / 2))
    if low is not None:
        near = _nearest(low)
        tried.append(near if near > low else math.nextafter(near, math.inf))
    elif high is not None:
        near = _nearest(high)
        tried.append(near if near < high else math.nextafter(near, -math.inf))
    inside = (n for n in tried if (low is None or low < n) and (high is None or n < high))
    return next(inside, None)


def _nearest(number: float | Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _is_int64(value: Value) -> bool:
    if kind_of(value) != "number" or not isinstance(value, int | float):
        return False
    return is_finite(value) and int(value) == value and int(value) in INT64


def is_finite(number: float) -> bool:
    """Whether a number is finite; integers may be too large to ask ``math``."""
    return isinstance(number, int) or math.isfinite(number)


def text_after(low: str, high: str | None, nth: int = 0) -> str:
    """The nth of some ascending texts after `low`; before `high`, if there are as many.

    >>> text_after("a", "b"), text_after("a", "a0", 1), text_after("a", None, 25)
    ('aa', 'a\\x00\\x00', 'az')
    """
    if nth < 26 and (high is None or not high.startswith(low)):
        return low + chr(ord("a") + nth)
    return low + "\0" * (nth + 1)
