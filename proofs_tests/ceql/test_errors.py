"""Places, carets, hints and words of errors and warnings; the suite has their codes."""

from __future__ import annotations

import warnings
from contextlib import nullcontext

import pytest

import cerlab
from cerlab import CerlabError, QuerySyntaxError, ResourceLimit
from cerlab.compile.pattern import any_pattern
from cerlab.conformance import case_of, cases
from cerlab.errors import SourcePlace
from cerlab.evaluate.missing_names import requirements_of
from proofs_tests.limits.calls import at_most_calls

SCHEMA = (
    "CREATE STREAM S { EVENT BUY { name:string, price:double, at:timestamp },"
    " EVENT SELL { name:string, price:double, open:boolean? } }"
)


EXPECTED = {
    "missing-operand": (1, 19, "a name"),
    "misspelled-from": (1, 10, "FROM"),
    "misspelled-partition": (3, 9, "PARTITION"),
    "missing-parenthesis": (2, 16, "')'"),
    "missing-constant": (1, 31, "a number"),
    "unknown-character": (1, 18, "';'"),
    "window-without-a-unit": (1, 26, "EVENTS"),
    "limit-without-a-number": (1, 24, "a number"),
}
"""Cases of the conformance suite: line, column, and what could stand there."""


@pytest.mark.parametrize("name", EXPECTED)
def test_syntax_errors_say_where_and_what(name: str) -> None:
    error, (line, column, expected) = error_of(f"errors-of-texts/{name}"), EXPECTED[name]
    assert isinstance(error, QuerySyntaxError)
    assert (error.line, error.column) == (line, column)
    assert expected in error.expected
    assert error.caret.splitlines()[1].index("^") - 4 == column - 1
    assert f"line {line}, column {column}" in str(error)


def error_of(id: str) -> CerlabError:
    """Return the error that a case of the conformance suite expects."""
    with pytest.raises(CerlabError) as caught:
        cerlab.evaluate(case_of(id).query, [])
    return caught.value


HINTS = {
    "errors-of-texts/misspelled-keyword": "did you mean 'PARTITION'",
    "errors-of-texts/keyword-as-a-name": "write `max` to use it as a name",
    "errors-of-queries/unknown-type": "did you mean 'BUY'",
    "errors-of-queries/unknown-stream-of-an-atom": "known: S",
    "errors-of-queries/unknown-attribute": "did you mean 'price'",
    "errors-of-queries/unknown-attribute-in-a-sum": "did you mean 'price'",
    "errors-of-queries/unknown-attribute-negated": "did you mean 'price'",
    "errors-of-queries/number-and-text": "both sides",
    "errors-of-queries/text-and-number": "both sides",
    "errors-of-queries/negated-text": "both sides",
    "errors-of-queries/negated-number-and-text": "both sides",
    "errors-of-queries/text-in-numbers": "both sides",
    "errors-of-queries/number-like-a-pattern": "both sides",
    "errors-of-queries/text-in-a-sum": "both sides",
    "errors-of-queries/unknown-attribute-of-two-labels": "did you mean 'price'",
    "errors-of-queries/number-and-text-of-two-labels": "number with text",
    "errors-of-queries/moment-and-boolean-of-two-labels": "timestamp with boolean",
    "errors-of-queries/type-and-number-of-two-labels": "text with number",
    "errors-of-queries/moment-and-boolean-of-several-types": "with boolean",
    "errors-of-queries/unknown-stream": "unknown stream",
}
"""Cases of the conformance suite, with words of their errors."""


@pytest.mark.parametrize("id", HINTS)
def test_an_error_has_a_hint(id: str) -> None:
    assert HINTS[id] in str(error_of(id))


OF_CLAUSES = (
    *("unknown-key", "unknown-attribute-of-a-window", "unknown-stream"),
    *("window-of-units-of-text", "window-of-units-of-a-moment"),
)
"""Cases of `errors-of-queries` whose errors have no place: the syntax tree of a clause has none."""

PLACED = [
    case.id
    for case in cases("errors-of-texts", "errors-of-queries")
    if case.id not in [f"errors-of-queries/{name}" for name in OF_CLAUSES]
]


@pytest.mark.parametrize("id", PLACED)
def test_an_error_has_a_place_in_the_text(id: str) -> None:
    error = error_of(id)
    assert isinstance(error.place, SourcePlace)
    assert "^" in str(error)


@pytest.mark.parametrize(
    "where",
    [
        "BUY AS x ; SELL AS y FILTER x.price < y.price",
        "BUY AS x ; SELL AS y FILTER x.type = y.name",
        "(BUY OR SELL) AS x ; SELL AS y FILTER x.open = y.open",
        "BUY AS x FILTER x.price = z.name",
        "NOT(BUY) AS x ; SELL AS y FILTER x.name = y.price",
        "BUY AS x FILTER x[-price < 3]",
    ],
)
def test_comparisons_that_may_hold_by_type_are_taken(where: str) -> None:
    with warnings.catch_warnings(action="ignore"):
        cerlab.parse_query(f"SELECT * WHERE {where}", SCHEMA)


def test_an_attribute_of_one_of_several_types_is_known() -> None:
    cerlab.parse_query("SELECT * WHERE (BUY OR SELL) AS x FILTER x[open = TRUE]", SCHEMA)


TWO_STREAMS = "CREATE STREAM S { EVENT A { v:int } } CREATE STREAM T { EVENT B { w:int } }"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT S>A, T>B WHERE A ; B", None),
        ("SELECT T>A WHERE A ; B", "CER0301"),
        ("SELECT S>A[v] WHERE A", None),
        ("SELECT T>A[v] WHERE A", "CER0301"),
        ("SELECT S>x[v] WHERE (A OR B) AS x", None),
        ("SELECT S>x[w] WHERE (A OR B) AS x", "CER0302"),
        ("SELECT * WHERE PROJECT[S>A](A ; B)", None),
        ("SELECT * WHERE PROJECT[T>A](A ; B)", "CER0301"),
        ("SELECT * WHERE A FILTER S>A[v > 1]", None),
        ("SELECT * WHERE A FILTER T>A[v > 1]", "CER0301"),
    ],
)
def test_the_stream_of_a_label_declares_a_type_of_it(query: str, code: str | None) -> None:
    expected = nullcontext() if code is None else pytest.raises(cerlab.TypeMismatch, match=code)
    with expected:
        cerlab.parse_query(query, TWO_STREAMS)


def test_without_a_schema_from_names_any_stream() -> None:
    cerlab.parse_query("SELECT * FROM Other WHERE A")


def test_the_smallest_integer_is_read() -> None:
    phi = cerlab.parse_formula("A FILTER A[v = -9223372036854775808]")
    assert "-9223372036854775808" in str(phi)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000 + "A" + ")" * 10_000,
        "SELECT * WHERE " + "A;" * 500_000 + "A",
        "A" + " ; A" * 300,
        "A FILTER A[" + "NOT " * 300 + "v = 1]",
        "A FILTER A[v = " + "(" * 300 + "1" + ")" * 300 + "]",
    ],
    ids=["parentheses", "megabyte", "chain", "nots", "expression"],
)
def test_what_is_too_large_is_refused_at_once(text: str) -> None:
    with pytest.raises(ResourceLimit), at_most_calls(1_000_000):
        cerlab.evaluate(text, [])


def test_what_a_filter_reads_is_found_without_its_copies() -> None:
    """36 times OR are 2^36 ways to satisfy it, of which each test is asked for once."""
    tests = " AND ".join(f"(a[v != {n}] OR b[w != {n}])" for n in range(36))
    query = cerlab.parse_query(f"SELECT * WHERE A AS a ; B AS b FILTER {tests}")
    with at_most_calls(100_000):
        assert {*requirements_of(query).attributes} == {"v", "w"}


MESSAGES = {
    "filter-on-a-label-that-nothing-sets": "nothing sets label 'y'",
    "filter-on-a-projected-label": "nothing sets label 'A'",
    "second-filter-on-a-label-that-nothing-sets": "nothing sets label 'y'",
    "either-filter-on-a-label-that-nothing-sets": "nothing sets label 'y'",
    "selected-label-that-nothing-sets": "SELECT y gives nothing",
    "projected-label-that-nothing-sets": r"PROJECT\[y\] gives nothing",
    "renamed-label-that-nothing-sets": "gives nothing",
    "two-attributes-in-one-bracket": "alternatives",
    "wait-in-a-narrower-window": "narrower",
    "wait-in-a-narrower-window-of-units": "narrower",
    "second-wait": "second WAIT",
    "unless-of-a-part-that-repeats": "B ; B",
    "unless-in-a-window": r"\(A WAIT 10 MINUTES\) UNLESS B",
}
"""Cases of the conformance suite, with words of their warnings."""


@pytest.mark.parametrize("name", MESSAGES)
def test_a_warning_says_what_has_no_effect(name: str) -> None:
    for parse in (cerlab.parse_query, any_pattern):
        with pytest.warns(cerlab.CerlabWarning, match=MESSAGES[name]):
            parse(case_of(f"warnings-of-queries/{name}").query)


def test_a_remark_is_at_the_line_that_asked() -> None:
    text = "SELECT * WHERE A AS x FILTER y[v = 1]"
    for ask in (cerlab.parse_query, cerlab.satisfiable, lambda q: cerlab.count(q, [{"type": "A"}])):
        with pytest.warns(cerlab.CerlabWarning, match="CER0901") as said:
            ask(text)
        assert {warning.filename for warning in said} == {__file__}


@pytest.mark.parametrize(
    ("text", "evaluator"),
    [
        ("SELECT * WHERE MAX(A) ; B CONSUME BY ANY", "compiled"),
        ("SELECT NEXT * WHERE MAX(A+) CONSUME BY ANY", "compiled"),
        ("A AS x ; B AS y FILTER x.v > y.v", "automaton"),
        ("A AS x ; B AS y FILTER x.v > y.v", "tecs"),
    ],
)
def test_what_has_no_automaton_is_refused_by_name(text: str, evaluator: str) -> None:
    with pytest.raises(cerlab.Unsupported) as caught:
        cerlab.evaluate(text, [{"type": "A"}], evaluator=evaluator)  # type: ignore[arg-type]  # a literal
    assert isinstance(caught.value, CerlabError)
    assert caught.value.code == "CER0403"
    assert "reference" in caught.value.hint


def test_the_reference_refuses_a_stream_too_long_for_it_at_once() -> None:
    with pytest.raises(ResourceLimit, match="streams of up to"):
        cerlab.evaluate("A", [{"type": "A"}] * 1000, evaluator="reference")
    with pytest.raises(ResourceLimit, match="valuations"):
        cerlab.evaluate("A+", [{"type": "A"}] * 40, evaluator="reference")


def test_two_to_the_forty_answers_with_a_limit_return_at_once() -> None:
    with at_most_calls(10_000_000):  # with the imports of what evaluates
        answers = cerlab.evaluate("A+", [{"type": "A"}] * 40, limit=10)
        assert cerlab.count("A+", [{"type": "A"}] * 40) == 2**40 - 1
    assert len(set(answers)) == 10


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * WHERE A WITHIN {} EVENTS",
        "SELECT * WHERE A WITHIN {} [t]",
        "SELECT * WHERE A WITHIN {} SECONDS",
        "SELECT * WHERE A LIMIT {}",
        "SELECT * WHERE A FILTER A[v = -{}]",
        "<v = {}>^",
        "<TRUE>^[1..{}]",
        "<TRUE>^[len<={}]",
    ],
)
def test_integers_of_thousands_of_digits(text: str) -> None:
    """Python reads no text of more than 4,300 digits as an int."""
    with pytest.raises(cerlab.IllFormed, match="CER0204"):
        cerlab.evaluate(text.format("9" * 5_000), [])


@pytest.mark.parametrize(
    "text",
    [
        "\u017fELECT * WHERE A",  # a long s
        "SELECT * WHERE A WITH\u0131N 3 EVENTS",  # an i without a dot
        "SELECT * WHERE A WITHIN \u0663 EVENTS",  # an Arabic 3
        "SELECT * WHERE A WITHIN 3 \u017fECONDS",
        "SELECT * WHERE \u212a",  # the sign of Kelvin
        "SELECT * WHERE A\uff11",  # a wide 1
        "SELECT * WHERE A FILTER A[v > \u0664]",
        "SELECT * WHERE A{\u0662}",
    ],
)
def test_letters_and_digits_that_only_look_so_are_refused(text: str) -> None:
    """Names and numbers are ASCII; other letters stand in quotes."""
    with pytest.raises(cerlab.QuerySyntaxError):
        cerlab.parse_query(text)
    with pytest.raises(cerlab.QuerySyntaxError):
        cerlab.parse_formula(text.removeprefix("SELECT * WHERE "))
    quoted = "`\u212a` FILTER `\u212a`[`\u017f` = '\u0663']"
    assert cerlab.count(quoted, [{"type": "\u212a", "\u017f": "\u0663"}]) == 1
    with pytest.raises(cerlab.QuerySyntaxError):
        cerlab.parse_sremo("<v > \u0664>^")
