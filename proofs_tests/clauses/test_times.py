"""Predicates in other forms than CEL, literals of time by hand, and random terms by fractions.

The hand-computed cases are ``cerlab/conformance/cases/predicates.json`` and ``times.json``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import Duration, Event, Timestamp, parse_sremo, satisfies
from cerlab.automata.encoding import predicate_from_json, predicate_to_json
from cerlab.conformance import Case, cases
from cerlab.logic.cel.syntax import Filter
from cerlab.logic.ceql.parser import parse_cel
from cerlab.model.clauses import TimeWindow
from cerlab.model.event import Value, moment_of_data
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.condition import On
from cerlab.predicates.syntax import Comparison, Constant, Predicate
from cerlab.predicates.text import predicate_text
from proofs_tests.clauses.tables import EVALUATORS, c
from proofs_tests.suite import random_suite


def predicate_of(text: str) -> Predicate:
    phi, _ = parse_cel(f"E FILTER E[{text}]")
    assert isinstance(phi, Filter)
    assert isinstance(phi.condition, On)
    return phi.condition.predicate


@pytest.mark.parametrize("case", cases("predicates", "times"), ids=lambda case: case.id)
def test_a_predicate_keeps_its_meaning_as_text_as_json_as_columns_and_as_a_guard(
    case: Case,
) -> None:
    text = case.query.removeprefix("E FILTER E[").removesuffix("]")
    P, (event,), expected = predicate_of(text), case.stream.events, bool(case.expected)
    assert satisfies(event, P) is expected
    assert predicate_of(predicate_text(P)) == P
    assert predicate_from_json(predicate_to_json(P)) == P
    stage = SymbolStage([P])
    columns = {"type": ["E"], **{name: [each] for name, each in event.attributes.items()}}
    assert stage.vectors[stage.symbols(columns, 1)[0]] == expected
    assert stage.vectors[stage.symbol(event)] == expected
    e = parse_sremo(f"<{text}>^")
    assert parse_sremo(str(e)) == e
    assert bool(cerlab.evaluate(e, [event])) is expected


@pytest.mark.parametrize(
    ("literal", "code"),
    [
        ("106752 DAYS", "CER0102"),
        ("9223372036.854775808 SECONDS", "CER0102"),
        ("-(9223372036.854775808 SECONDS)", "CER0102"),
        ("-9223372036.854775809 SECONDS", "CER0102"),
        ("TIMESTAMP '9999-12-31 23:59:59.999999999-00:01'", "CER0102"),
        ("TIMESTAMP '0001-01-01 00:00+00:01'", "CER0102"),
        ("DATE '0000-12-31'", "CER0102"),
        ("DATE '2024-02-30'", "CER0102"),
        ("DATE '2024-01-31 10:00'", "CER0102"),
        ("TIMESTAMP '10:00'", "CER0102"),
        ("TIMESTAMP '2024-01-31 25:00'", "CER0102"),
        ("TIMESTAMP '2024-01-31 10:00:00.0000000001'", "CER0102"),
        ("TIMESTAMP '٢024-01-31'", "CER0102"),
        ("5 MINUTES 1 HOUR", "CER0101"),
        ("5 MINUTES 5 MINUTES", "CER0101"),
        ("5 WEEKS", "CER0101"),
        ("n MINUTES", "CER0101"),
    ],
)
def test_no_literal(literal: str, code: str) -> None:
    with pytest.raises(cerlab.QuerySyntaxError) as caught:
        predicate_of(f"d > {literal}")
    assert caught.value.code == code
    assert caught.value.hint


@pytest.mark.parametrize(
    "literal", ["0.0000000001 SECONDS", "1e-400 DAYS", "0.0000001 MILLISECONDS"]
)
def test_a_fraction_of_a_nanosecond_is_refused(literal: str) -> None:
    with pytest.raises(cerlab.IllFormed) as caught:
        predicate_of(f"d > {literal}")
    assert caught.value.code == "CER0207"


@pytest.mark.parametrize("zone", ["", "Z", "+02:00"])
def test_a_text_is_a_time_to_the_nanosecond(zone: str) -> None:
    texts = [f"2024-01-31T10:00:{second}{zone}" for second in ("08.5", "08.800000001", "20")]
    events = [Event(kind, {"t": text}) for kind, text in zip("ABC", texts, strict=True)]
    for evaluator in EVALUATORS:
        for text, expected in (
            ("A ; B WITHIN 0.3 SECONDS", []),
            ("A ; B WITHIN 0.300000001 SECONDS", [c(0, 1, 0, 1)]),
            ("A WAIT 0.3 SECONDS", [c(0, 0, 0)]),
        ):
            if "WAIT" in text and evaluator == "automaton":
                continue  # it refuses waits
            query = f"SELECT * WHERE {text}"
            answers = cerlab.evaluate(query, events, time="t", evaluator=evaluator)  # type: ignore[arg-type]  # literals
            assert answers == expected, (text, evaluator)
    assert cerlab.count("A WAIT 0.3 SECONDS", events[:1], time="t", until=texts[1]) == 1
    session = cerlab.parse_query("SELECT * WHERE A WAIT 0.3 SECONDS").open(time="t")
    assert session.push(events[:1]) == []
    assert session.advance(texts[1]) == [c(0, 0, 0)]


def test_data_have_every_form_of_a_moment_and_no_fraction_of_a_nanosecond() -> None:
    for text, nanoseconds in (
        ("1970-01-01T00:00:00.123456789000", 123_456_789),
        ("19700101T000000,1234567Z", 123_456_700),
        ("1970-W01-4 01:00:00.000000001+01", 1),
        ("1969-12-31T23:59:59.999999999", -1),
        ("1970-01-01 00", 0),
    ):
        assert moment_of_data(text) == Timestamp(nanoseconds), text
    for text in ("1970-01-01T00:00:00.0000000001", "1970-13-01"):
        assert moment_of_data(text) is None, text


def test_the_outermost_literals() -> None:
    for text in (
        "TIMESTAMP '2262-04-11 23:47:16.854775807'",
        "TIMESTAMP '1677-09-21 00:12:43.145224192'",
        "-9223372036.854775808 SECONDS",
        "9223372036.854775807 SECONDS",
    ):
        P = predicate_of(f"d > {text}")
        assert isinstance(P, Comparison)
        assert isinstance(P.right, Constant)
        assert isinstance(P.right.value, Timestamp | Duration)
        assert P.right.value.nanoseconds in (2**63 - 1, -(2**63))
        assert predicate_of(predicate_text(P)) == P


@pytest.mark.parametrize(
    ("window", "nanoseconds"),
    [
        ("1 DAY", 86_400 * 10**9),
        ("1 DAY 2 HOURS 3.5 SECONDS 250 MILLISECONDS", (93_600 * 10**3 + 3750) * 10**6),
        ("5 milliseconds", 5 * 10**6),
        ("1e300 HOURS", 3600 * 10**309),
    ],
)
def test_within_takes_the_same_durations(window: str, nanoseconds: int) -> None:
    query = cerlab.parse_query(f"SELECT * WHERE A WITHIN {window}")
    assert query.plan.window == TimeWindow(nanoseconds)
    assert cerlab.parse_query(str(query)) == query


# -- random terms ------------------------------------------------------------------------------

NUMBERS = (0, 1, -2, 3, 7, 10**9, 2**53 + 1, 2**63 - 1, 2**63, 0.5, -1.5, 1e-9, 0.1, 1e300)
SPANS = (0, 1, -1, 3, 10**9, -(10**9) - 1, 86_400 * 10**9, 2**62, 2**63 - 1, -(2**63), 2**63)
ODD = (math.nan, math.inf, -math.inf, "a", "5", True, None)


def random_value(rng: Random) -> Value:
    match rng.randrange(10):
        case 0 | 1 | 2:
            return rng.choice(NUMBERS)
        case 3 | 4 | 5:
            return Duration(rng.choice(SPANS) if rng.random() < 0.5 else rng.randrange(-99, 99))
        case 6 | 7 | 8:
            return Timestamp(rng.choice(SPANS) if rng.random() < 0.5 else rng.randrange(-99, 99))
        case _:
            return rng.choice(ODD)


def typed_value(rng: Random, name: str) -> Value:
    """A moment for t and s, a duration for d and e, an integer for n, a double for m."""
    nanoseconds = rng.choice(SPANS[:-1]) if rng.random() < 0.3 else rng.randrange(-9, 9)
    match name:
        case "t" | "s":
            return Timestamp(nanoseconds)
        case "d" | "e":
            return Duration(nanoseconds)
        case _:
            return rng.choice(NUMBERS[:7] if name == "n" else NUMBERS[9:])


class Nothing(Exception):
    """A term has no value."""


Typed = tuple[str, Any]
"""A kind and a value: moments and durations by their nanoseconds."""

WAYS = {
    "m": ("t", "s", "m+d", "d+m", "m-d"),
    "d": ("d", "e", "m-m", "d+d", "d-d", "-d", "n*d", "d*n", "d/n"),
    "n": ("n", "m", "d/d", "n+n", "n*n"),
}
"""Operators and sides that give a moment, a duration or a number."""


def random_term(rng: Random, kind: str, depth: int) -> Any:
    """A term of a kind, or now and then of another."""
    if rng.random() < 0.05:
        kind = rng.choice("mdn")
    ways = [way for way in WAYS[kind] if depth or len(way) == 1]
    way = rng.choice(ways)
    if len(way) == 1:
        return (way,)
    op = rng.choice("+-*/%") if len(way) == 3 and rng.random() < 0.05 else way[-2]
    return (op, *(random_term(rng, each, depth - 1) for each in way if each.isalpha()))


def text_of(term: Any) -> str:
    if len(term) == 1:
        return str(term[0])
    if len(term) == 2:
        return f"-({text_of(term[1])})"
    return f"({text_of(term[1])} {term[0]} {text_of(term[2])})"


def typed(each: Value) -> Typed:
    match each:
        case Timestamp(n):
            return "moment", n
        case Duration(n):
            return "duration", n
        case bool() | str() | None:
            return type(each).__name__, each
        case _:
            return "number", each


def checked(kind: str, exact: Fraction | int) -> Typed:
    """Nanoseconds, rounded by hand: to the nearest, of two to the even one."""
    floor = math.floor(exact)
    rest = Fraction(exact) - floor
    up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and floor % 2 == 1)
    nanoseconds = floor + up
    if not -(2**63) <= nanoseconds <= 2**63 - 1:
        raise Nothing
    return kind, nanoseconds


def meaning(term: Any, values: dict[str, Value]) -> Typed:
    """The value of a term with at least one moment or duration, as the manual's table says."""
    if len(term) == 1:
        return typed(values.get(term[0]))
    sides = [meaning(each, values) for each in term[1:]]
    for kind, number in sides:
        if kind not in ("moment", "duration", "number"):
            raise Nothing
        if isinstance(number, int) and not -(2**63) <= number < 2**63:
            raise Nothing
    kinds, (a, *rest) = "".join(kind[0] for kind, _ in sides), [number for _, number in sides]
    match term[0] + kinds, rest:
        case "-d", []:
            return checked("duration", -a)
        case "-mm", [b]:
            return checked("duration", a - b)
        case (("+md" | "+dm"), [b]):
            return checked("moment", a + b)
        case "-md", [b]:
            return checked("moment", a - b)
        case "+dd", [b]:
            return checked("duration", a + b)
        case "-dd", [b]:
            return checked("duration", a - b)
        case (("*nd" | "*dn" | "/dn"), [b]):
            if not (math.isfinite(a) and math.isfinite(b)) or (term[0] == "/" and b == 0):
                raise Nothing
            exact = Fraction(a) * Fraction(b) if term[0] == "*" else Fraction(a) / Fraction(b)
            return checked("duration", exact)
        case "/dd", [b] if b:
            return "number", float(Fraction(a, b))
        case (("-n" | "+nn" | "-nn" | "*nn" | "/nn" | "%nn"), _):
            return numbers(term[0], a, rest)
        case _:
            raise Nothing


def numbers(op: str, a: Any, rest: list[Any]) -> Typed:
    """Arithmetic of numbers: integers of 64 bits, and doubles."""
    if not rest:
        a, rest = 0, [a]
    b = rest[0]
    try:
        result = {
            "+": a.__add__,
            "-": a.__sub__,
            "*": a.__mul__,
            "%": a.__mod__,
            "/": a.__truediv__,
        }[op](b)
        if result is NotImplemented:
            result = eval(f"a {op} b", {"a": float(a), "b": b})
    except (ZeroDivisionError, OverflowError):
        raise Nothing from None
    if isinstance(result, int):
        if not -(2**63) <= result < 2**63:
            raise Nothing
    elif math.isnan(result) or (math.isinf(result) and math.isfinite(a) and math.isfinite(b)):
        raise Nothing
    return "number", result


RELATIONS = {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (1, 0), "=": (0,), "!=": (-1, 1)}


@random_suite(20_000)
def test_random_terms_by_fractions(rng: Random) -> bool:
    """A random comparison on a few events: the truth and the columns against fractions."""
    kind = rng.choice("mmddddn")
    term, other = random_term(rng, kind, 2), random_term(rng, kind, 1)
    op = rng.choice(list(RELATIONS))
    P = predicate_of(f"{text_of(term)} {op} {text_of(other)}")
    by_type = rng.random() < 0.7  # so that columns are of one type
    values = typed_value if by_type else lambda rng, name: random_value(rng)
    events = [Event("E", {name: values(rng, name) for name in "tsdenm"}) for _ in range(8)]
    expected = []
    for event in events:
        try:
            (kind, left), (other_kind, right) = (
                meaning(each, dict(event.attributes)) for each in (term, other)
            )
        except Nothing:
            expected.append(False)
            continue
        comparable = kind == other_kind and left is not None and left == left and right == right
        expected.append(comparable and (left > right) - (left < right) in RELATIONS[op])
    truths = [satisfies(event, P) for event in events]
    different = [e for e, *pair in zip(events, truths, expected, strict=True) if pair[0] != pair[1]]
    assert truths == expected, (P, different)
    stage = SymbolStage([P])
    columns: dict[str, Any] = {"type": ["E"] * 8}
    for name in "tsdenm":
        columns[name] = [event.attributes.get(name) for event in events]
    symbols = stage.symbols(columns, 8)
    assert [stage.vectors[symbol] for symbol in symbols] == expected, P
    return any(expected)
