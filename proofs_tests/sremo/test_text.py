"""The text of expressions: round trip, precedence, errors with their place (SRT Def. 15)."""

from __future__ import annotations

from random import Random

import pytest

from cerlab import ComplexEvent, Event, IllFormed, QuerySyntaxError, ResourceLimit, parse_sremo
from cerlab.logic.sremo import check_sremo, detections, matches, semantics, sremo_text
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import reads, writes
from cerlab.predicates.syntax import Attribute, Comparison, Constant, Operator
from cerlab.testing import Shape, random_sremo
from proofs_tests.sremo.tables import sre as read
from proofs_tests.suite import random_suite


@random_suite(10_000)
def test_parse_after_print_is_the_identity(rng: Random) -> bool:
    e = random_sremo(rng, Shape(depth=4))
    text = sremo_text(e)
    assert parse_sremo(text) == e, text
    assert str(e) == text
    return True


def a(kind: str, *, marks: bool = False, writes: str = "") -> sre.Terminal:
    guard = Comparison(Operator.EQ, Attribute("type"), Constant(kind))
    return sre.Terminal(guard, marks, frozenset(writes))


A, B, C = (a(kind) for kind in "ABC")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("EPS", sre.Epsilon()),
        ("eMPTY", sre.Empty()),
        ("A^", a("A", marks=True)),
        ("A -> r", a("A", writes="r")),
        ("A^ -> {r, s}", a("A", marks=True, writes="rs")),
        ("A ^-> r", a("A", marks=True, writes="r")),
        ("A | B & C", sre.Alternation(A, sre.Intersection(B, C))),
        ("A & B . C", sre.Intersection(A, sre.Concat(B, C))),
        ("A & B | C", sre.Alternation(sre.Intersection(A, B), C)),
        ("!A . B", sre.Concat(sre.Negation(A), B)),
        ("A . !B", sre.Concat(A, sre.Negation(B))),
        ("!A*", sre.Negation(sre.Star(A))),
        ("(!A)*", sre.Star(sre.Negation(A))),
        ("!!A", sre.Negation(sre.Negation(A))),
        ("A . B . C", sre.Concat(sre.Concat(A, B), C)),
        ("A . (B . C)", sre.Concat(A, sre.Concat(B, C))),
        ("A | B | C", sre.Alternation(sre.Alternation(A, B), C)),
        ("A & B & C", sre.Intersection(sre.Intersection(A, B), C)),
        ("A . B*", sre.Concat(A, sre.Star(B))),
        ("A -> r*", sre.Star(a("A", writes="r"))),
        ("A*+?", sre.Option(sre.Plus(sre.Star(A)))),
        ("A[1..3]", sre.SpanWindow(A, 3)),
        ("A[ len <= 3 ]", sre.LengthWindow(A, 3)),
        ("A[LEN<=0]", sre.LengthWindow(A, 0)),
        ("A[within 3 ts]", sre.Within(A, 3, "ts")),
        ("A[Within 2.5 `my time`]", sre.Within(A, 2.5, "my time")),
        ("!A[1..2]*", sre.Negation(sre.Star(sre.SpanWindow(A, 2)))),
        ("#(A)", sre.SkipAny((A,))),
        ("#(A | B, C . A)", sre.SkipAny((sre.Alternation(A, B), sre.Concat(C, A)))),
        ("@(A, B, C)[1..9]", sre.SpanWindow(sre.SkipNext((A, B, C)), 9)),
        ("A -- one\n . /* two */ B", sre.Concat(A, B)),
    ],
)
def test_trees(text: str, tree: sre.Sremo) -> None:
    assert read(text) == tree
    assert parse_sremo(sremo_text(tree)) == tree


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("<a=1>^->r", "<a = 1>^ -> r"),
        ("<a==1>^->{s,r}", "<a = 1>^ -> {r, s}"),
        ("<a=1>->{r}", "<a = 1> -> r"),
        ("((<a<>1>))", "<a != 1>"),
        ("<not a=1 and true>", "<NOT a = 1 AND TRUE>"),
        ("<a > b>", "<a > b>"),
        ("<a>-3>", "<a > -3>"),
        ("<r.a>s.b>", "<r.a > s.b>"),
        ("<1 + a * 2 >= r.b>", "<1 + a * 2 >= r.b>"),
        ("<r.a <= 'it''s'>", "<r.a <= 'it''s'>"),
        ("<r.f = FALSE>", "<r.f = FALSE>"),
        ("<`two words`.`or` = `and`>", "<`two words`.`or` = `and`>"),
        ("<eps = 1> -> empty", "<eps = 1> -> empty"),
        ("<len = within>[len<=2]", "<len = `within`>[len<=2]"),
        ("(<a = 1>^ -> r)*", "(<a = 1>^ -> r)*"),
        ("<a = 1>^ -> r*", "(<a = 1>^ -> r)*"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    assert str(parse_sremo(text)) == canonical
    assert str(parse_sremo(canonical)) == canonical


@pytest.mark.parametrize(
    ("text", "line", "column", "expected"),
    [
        ("", 1, 1, "EPS"),
        ("A", 1, 1, "'<'"),
        ("<a = 1> ; <b = 1>", 1, 9, "'.'"),
        ("<a = 1>^^", 1, 9, "'->'"),
        ("<a = 1", 1, 7, "'>'"),
        ("<a = 1> .", 1, 10, "'!'"),
        ("<a = 1>\n -> 3", 2, 5, "a name"),
        ("<a = 1> -> {r, }", 1, 16, "a name"),
        ("<a = 1>[2..3]", 1, 9, "'1'"),
        ("<a = 1>[12..3]", 1, 9, "'1'"),
        ("<a = 1>[1..x]", 1, 12, "a number"),
        ("<a = 1>[len<3]", 1, 12, "'<='"),
        ("<a = 1>[within 3]", 1, 17, "a name"),
        ("#()", 1, 3, "'!'"),
        ("#(<a = 1>, )", 1, 12, "'@'"),
        ("#<a = 1>", 1, 2, "'('"),
        ("(<a = 1>", 1, 9, "')'"),
        ("<a = 1> & & <b = 1>", 1, 11, "'#'"),
        ("<r.a + 1 = 2>", 1, 6, "'='"),
        ("<a = r.b + 1>", 1, 10, "'>'"),
        ("<TRUE = a>", 1, 7, "AND"),
        ("<>", 1, 2, "NOT"),
        ("<a = 1> $", 1, 9, "the end"),
    ],
)
def test_syntax_errors_say_where_and_what(text: str, line: int, column: int, expected: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_sremo(text)
    error = caught.value
    assert error.code == "CER0101"
    assert (error.line, error.column) == (line, column)
    assert expected in error.expected
    assert error.caret.splitlines()[1].index("^") - 4 == column - 1
    assert f"line {line}, column {column}" in str(error)


@pytest.mark.parametrize("window", ["[1..2]", "[len<=2]", "[within 1 t]"])
def test_windows_nest_as_deep_as_is_said(window: str) -> None:
    assert parse_sremo("<a = 1>" + window * 50)
    with pytest.raises(ResourceLimit, match="CER0602"):
        parse_sremo("<a = 1>" + window * 300)


def test_windows_may_be_of_nothing() -> None:
    text = "<a = 1>[within 0 t] . <a = 1>[len<=0]"
    assert str(parse_sremo(text)) == text


def test_what_one_writes_in_cel_gets_a_hint() -> None:
    with pytest.raises(QuerySyntaxError, match=r"an event of type A is <type = 'A'>"):
        parse_sremo("A ; B")
    with pytest.raises(QuerySyntaxError, match=r"#\(e, e\) the one with gaps"):
        parse_sremo("<a = 1> ; <b = 1>")


@pytest.mark.parametrize(
    ("text", "code", "column", "message"),
    [
        ("<a = 1>[1..0]", "CER0280", 1, "w >= 1"),
        ("EPS . <a = 1>[1..0]", "CER0280", 7, "w >= 1"),
        ("<a = 1> -> r & <b = r.b>", "CER0282", 1, "'r'"),
        ("<b = r.b> & <a = 1> -> r", "CER0282", 1, "'r'"),
        ("<a = 1> -> r & <a = 1> -> r", "CER0282", 1, "'r'"),
        ("EPS . (<a = 1> & #(EPS, !(<a = s.a>) . <a = 1> -> s)* & <b = s.b>)", "CER0282", 8, "'s'"),
        ("<a = 99999999999999999999>", "CER0204", 6, "64 bits"),
        ("<a = 1e999>", "CER0204", 6, "64 bits"),
        ("<a IN {1, 'a'}>", "CER0206", 8, "mixes kinds"),
        ("<a LIKE '('>", "CER0205", 9, "regular expression"),
    ],
)
def test_ill_formed_expressions(text: str, code: str, column: int, message: str) -> None:
    with pytest.raises(IllFormed) as caught:
        parse_sremo(text)
    assert caught.value.code == code
    assert message in str(caught.value)
    assert f"line 1, column {column}" in str(caught.value)
    assert "^" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "<a = r.a> & <b = r.b>",
        "<a = 1> -> r & <b = 1> -> s",
        "<a = 1> -> r . (<a = r.a> & <b = r.b>)",
        "!(<a = 1> -> r) & <b = 1> -> r",
        "<a = r.a>",
        "<a = r.a> -> r",
        "!(<a = 1> -> r) . <a = r.a>",
    ],
)
def test_well_formed_expressions(text: str) -> None:
    """Registers that both sides only read are shared; a negation writes none."""
    assert parse_sremo(text)


@pytest.mark.parametrize(
    "e",
    [
        sre.SkipAny(()),
        sre.SkipNext(()),
        sre.SpanWindow(A, 0),
        sre.LengthWindow(A, -1),
        sre.Within(A, -1, "t"),
        sre.Within(A, float("inf"), "t"),
        sre.Within(A, float("nan"), "t"),
        sre.Star(sre.Intersection(a("A", writes="r"), a("A", writes="r"))),
    ],
)
def test_trees_made_by_hand_are_checked_too(e: sre.Sremo) -> None:
    with pytest.raises(IllFormed):
        check_sremo(e)
    with pytest.raises(IllFormed):
        matches(e, [Event("A")])


def test_registers_of_an_expression() -> None:
    e = parse_sremo("<a = r.a OR NOT b = s.b>^ -> t . !(<c = u.c> -> v)")
    assert reads(e) == {"r", "s", "u"}
    assert writes(e) == {"t"}


@pytest.mark.parametrize(
    "text",
    [
        "<a = 1>" + " . <a = 1>" * 300,
        "!" * 300 + "<a = 1>",
        "<a = 1>" + "*" * 300,
        "<" + "NOT " * 300 + "a = 1>",
        "#(" + ", ".join(["<a = 1>"] * 150) + ")",
        "<a = 1>" + " | <a = 1>" * 20_000,
    ],
    ids=["chain", "negations", "stars", "guard", "operands", "long"],
)
def test_an_expression_that_is_too_large_is_refused(text: str) -> None:
    with pytest.raises(ResourceLimit):
        parse_sremo(text)


@pytest.mark.parametrize(
    "text",
    [
        "<TRUE>^" + " . <TRUE>^" * 198,
        "!" * 190 + "<TRUE>^",
        "<TRUE>^" + "*" * 190,
        "(" * 190 + "<TRUE>^" + ")*" * 190,
        "#(" + ", ".join(["<TRUE>^"] * 95) + ")",
        "@(" * 30 + "<TRUE>^" + ")" * 30,
        "(" * 5_000 + "<TRUE>^" + ")" * 5_000,
    ],
    ids=["chain", "negations", "stars", "stars-in-parentheses", "operands", "strategies", "nested"],
)
def test_what_is_just_small_enough_is_read_printed_and_evaluated(text: str) -> None:
    e = parse_sremo(text)
    assert parse_sremo(str(e)) == e
    assert matches(e, [Event("A")]) <= {(), (0,)}
    assert detections(e, [Event("A")]) <= {ComplexEvent(0, 0, (0,))}


@pytest.mark.parametrize(
    "text",
    ["<TRUE>" + "+" * 66, "#(" + ", ".join(["<TRUE>^"] * 97) + ")", "<TRUE>" + "?" * 99],
    ids=["plus", "any", "option"],
)
def test_derived_operators_are_as_deep_as_what_they_stand_for(text: str) -> None:
    """199 levels: e+ stands for e . e*, e? for EPS | e, #(e, ..) for the e and gaps in between."""
    parse_sremo("!" + text)
    with pytest.raises(ResourceLimit, match="CER0680"):
        parse_sremo("!!" + text)


@pytest.mark.parametrize(("text", "steps"), [("EPS", 1), ("EPS . EPS", 4), ("EPS | EPS", 3)])
def test_each_rule_is_a_step(text: str, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    e = parse_sremo(text)
    monkeypatch.setattr(semantics, "MAX_STEPS", steps)
    assert len(semantics.derivations(e, [])) == 1
    monkeypatch.setattr(semantics, "MAX_STEPS", steps - 1)
    with pytest.raises(ResourceLimit):
        semantics.derivations(e, [])


def test_the_reference_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ResourceLimit, match="up to 256 events") as caught:
        matches(sre.SKIP, [Event("A")] * 257)
    assert caught.value.code == "CER0681"
    monkeypatch.setattr(semantics, "MAX_STEPS", 10_000)
    for text in ("(<TRUE>^ | <TRUE>)*", "<TRUE>" + "+" * 20):
        with pytest.raises(ResourceLimit, match="10,000 steps") as caught:
            matches(parse_sremo(text), [Event("A")] * 20)
        assert caught.value.code == "CER0682"
