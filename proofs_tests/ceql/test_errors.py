"""Every syntax error has line, column, caret and expectation; names get the nearest known."""

from __future__ import annotations

import warnings

import pytest

import cerlab
from cerlab import IllFormed, QuerySyntaxError, ResourceLimit, TypeMismatch
from cerlab.compile.pattern import any_pattern
from cerlab.errors import CerlabError
from cerlab.evaluate.requirements import requirements_of
from proofs_tests.limits.calls import at_most_calls

SCHEMA = (
    "CREATE STREAM S { EVENT BUY { name:string, price:double, at:timestamp },"
    " EVENT SELL { name:string, price:double, open:boolean? } }"
)


@pytest.mark.parametrize(
    ("text", "line", "column", "expected"),
    [
        ("SELECT * WHERE A ;", 1, 19, "a name"),
        ("SELECT * FORM S WHERE A", 1, 10, "FROM"),
        ("SELECT *\nFROM S\nWHERE A PARTITON BY [a]", 3, 9, "PARTITION"),
        ("SELECT * WHERE (A ; B\nWITHIN 3 EVENTS", 2, 16, "')'"),
        ("SELECT * WHERE A FILTER A[v = ]", 1, 31, "a number"),
        ("SELECT * WHERE A $ B", 1, 18, "';'"),
        ("SELECT * WHERE A WITHIN 3", 1, 26, "EVENTS"),
        ("SELECT * WHERE A LIMIT x", 1, 24, "a number"),
    ],
)
def test_syntax_errors_say_where_and_what(text: str, line: int, column: int, expected: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        cerlab.parse_query(text)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert expected in error.expected
    assert error.caret.splitlines()[1].index("^") - 4 == column - 1
    assert error.code == "CER0101"
    assert f"line {line}, column {column}" in str(error)


def test_a_misspelled_keyword_gets_a_suggestion() -> None:
    with pytest.raises(QuerySyntaxError, match="did you mean 'PARTITION'"):
        cerlab.parse_query("SELECT * WHERE A PARTITON BY [a]")


def test_a_keyword_as_a_name_gets_a_hint() -> None:
    with pytest.raises(QuerySyntaxError, match="write `max` to use it as a name"):
        cerlab.parse_query("SELECT * WHERE A ; max ; B")


@pytest.mark.parametrize(
    ("where", "code", "hint"),
    [
        ("BYU AS x", "CER0301", "did you mean 'BUY'"),
        ("T>BUY", "CER0304", "known: S"),
        ("BUY AS x FILTER x[prize > 1]", "CER0302", "did you mean 'price'"),
        ("BUY AS x FILTER x[price + prize > 1]", "CER0302", "did you mean 'price'"),
        ("BUY AS x FILTER x[-prize > 1]", "CER0302", "did you mean 'price'"),
        ("BUY AS x FILTER x[price = 'a']", "CER0303", "both sides"),
        ("BUY AS x FILTER x[name > 3]", "CER0303", "both sides"),
        ("BUY AS x FILTER x[-name > 3]", "CER0303", "both sides"),
        ("BUY AS x FILTER x[-price > 'a']", "CER0303", "both sides"),
        ("BUY AS x FILTER x[name IN {1, 2}]", "CER0303", "both sides"),
        ("BUY AS x FILTER x[price LIKE 'a']", "CER0303", "both sides"),
        ("BUY AS x FILTER x[name + 1 > 2]", "CER0303", "both sides"),
        ("BUY AS x ; SELL AS y FILTER x.prize > y.price", "CER0302", "did you mean 'price'"),
        ("BUY AS x ; SELL AS y FILTER x.price != y.name", "CER0303", "number with text"),
        ("BUY AS x ; SELL AS y FILTER x.at = y.open", "CER0303", "timestamp with boolean"),
        ("BUY AS x ; SELL AS y FILTER x.type = y.price", "CER0303", "text with number"),
        ("BUY AS x ; (BUY OR SELL)+ AS y FILTER x.at < y.open", "CER0303", "with boolean"),
    ],
)
def test_names_and_types_are_checked_against_a_schema(where: str, code: str, hint: str) -> None:
    with pytest.raises(TypeMismatch) as caught:
        cerlab.parse_query(f"SELECT * WHERE {where}", SCHEMA)
    assert caught.value.code == code
    assert hint in str(caught.value)
    assert caught.value.place is not None
    assert "^" in str(caught.value)


@pytest.mark.parametrize(
    ("clause", "code"),
    [
        ("PARTITION BY [nam]", "CER0302"),
        ("WITHIN 3 [prices]", "CER0302"),
        ("WITHIN 3 [name]", "CER0305"),
        ("WITHIN 3 [at]", "CER0305"),
    ],
)
def test_clauses_are_checked_against_a_schema(clause: str, code: str) -> None:
    with pytest.raises(TypeMismatch) as caught:
        cerlab.parse_query(f"SELECT * WHERE BUY {clause}", SCHEMA)
    assert caught.value.code == code


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cerlab.parse_query(f"SELECT * WHERE {where}", SCHEMA)


def test_an_attribute_of_one_of_several_types_is_known() -> None:
    cerlab.parse_query("SELECT * WHERE (BUY OR SELL) AS x FILTER x[open = TRUE]", SCHEMA)


def test_an_unknown_stream_after_from_is_an_error_only_with_a_schema() -> None:
    cerlab.parse_query("SELECT * FROM Other WHERE A")
    with pytest.raises(TypeMismatch, match="unknown stream"):
        cerlab.parse_query("SELECT * FROM Other WHERE BUY", SCHEMA)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT * WHERE A FILTER A[v LIKE '(']", "CER0205"),
        ("SELECT * WHERE A FILTER A[v IN {1, 'a'}]", "CER0206"),
        ("SELECT * WHERE A FILTER A[v IN {1..'a'}]", "CER0206"),
        ("SELECT * WHERE A FILTER A[v NOT IN {TRUE..2}]", "CER0206"),
        ("SELECT * WHERE A FILTER A[v + 1 IN RANGE('a', 2)]", "CER0206"),
        ("SELECT * WHERE A FILTER A[v = 99999999999999999999]", "CER0204"),
        ("SELECT * WHERE A FILTER A[v = 1e999]", "CER0204"),
        ("CREATE STREAM S { EVENT A { x:strnig } } SELECT * WHERE A", "CER0210"),
        ("CREATE STREAM S { EVENT A { x:int, x:int } } SELECT * WHERE A", "CER0211"),
        ("CREATE STREAM S { EVENT A {}, EVENT A {} } SELECT * WHERE A", "CER0211"),
        (
            "CREATE STREAM S { EVENT A {} } CREATE STREAM S { EVENT B {} } SELECT * WHERE A",
            "CER0211",
        ),
    ],
)
def test_ill_formed_queries(text: str, code: str) -> None:
    with pytest.raises(IllFormed) as caught:
        cerlab.parse_query(text)
    assert caught.value.code == code
    assert caught.value.place is not None


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * WHERE A AS x FILTER y[v = 1]", "nothing sets label 'y'"),
        ("SELECT * WHERE PROJECT[x](A AS x) FILTER A[v = 1]", "nothing sets label 'A'"),
        ("SELECT * WHERE A FILTER A[v = 1] AND y[v = 1]", "nothing sets label 'y'"),
        ("SELECT * WHERE A FILTER y[v = 1] OR A[v = 1]", "nothing sets label 'y'"),
        ("SELECT y WHERE A AS x", "SELECT y gives nothing"),
        ("SELECT * WHERE PROJECT[y](A AS x)", r"PROJECT\[y\] gives nothing"),
        ("SELECT * WHERE RENAME[q -> x](A)", "gives nothing"),
        ("SELECT * WHERE A PARTITION BY [a, b]", "alternatives"),
        ("SELECT * WHERE (A WAIT 5 SECONDS WITHIN 4 SECONDS)", "CER0917.*narrower"),
        ("SELECT * WHERE A ; B WAIT 5 [t] WITHIN 4.5 [t]", "CER0917.*narrower"),
        ("SELECT * WHERE A WAIT 5 [t] WAIT 1 [t]", "CER0917.*second WAIT"),
        ("SELECT * WHERE (A AS x ; B+) UNLESS B", "CER0918.*B ; B"),
        ("SELECT * WHERE (A WAIT 5 [t]) UNLESS A", "CER0918"),
        ("SELECT * WHERE ((A OR A ; C) UNLESS S>D) UNLESS A", "CER0918"),
        ("SELECT * WHERE A UNLESS B WITHIN 5 MINUTES", r"CER0918.*\(A WAIT 10 MINUTES\) UNLESS B"),
        ("SELECT * WHERE (A AS x FILTER x[v = 1] UNLESS (B WAIT 5 [t])) ; C", "CER0918"),
    ],
)
def test_what_has_no_effect_is_a_warning(text: str, message: str) -> None:
    for parse in (cerlab.parse_query, any_pattern):
        with pytest.warns(cerlab.CerlabWarning, match=message):
            parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "(A WAIT 5 SECONDS WITHIN 5 SECONDS)",
        "(A WAIT 5 [t] WITHIN 4 [u])",
        "(A WAIT 5 [t] WITHIN 1 EVENTS)",
        "(A WAIT 5 [t]) ; B WAIT 5 [t]",
        "(A OR B) UNLESS A",
        "A UNLESS S>A",
        "(A ; NOT(B)) UNLESS B",
        "A UNLESS (A ; A)",
        "(A WAIT 5 [t]) UNLESS B",
        "(A OR B) UNLESS B",
        "(A ; C) UNLESS B",
        "A+ UNLESS B",
        "A UNLESS NOT(B)",
        "A UNLESS (A FILTER A[v > 1])",
    ],
)
def test_what_has_an_effect_is_none(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cerlab.parse_query(f"SELECT * WHERE {text}")


def test_a_remark_is_at_the_line_that_asked() -> None:
    text = "SELECT * WHERE A AS x FILTER y[v = 1]"
    for ask in (cerlab.parse_query, cerlab.satisfiable, lambda q: cerlab.count(q, [{"type": "A"}])):
        with pytest.warns(cerlab.CerlabWarning, match="CER0901") as said:
            ask(text)
        assert {warning.filename for warning in said} == {__file__}


@pytest.mark.parametrize("evaluator", ["automaton", "tecs"])
@pytest.mark.parametrize(
    "text",
    [
        "MAX(A) ; B",
        "PROJECT[](NEXT(A ; B))",
        "LAST(NEXT(A ; B))",
        "A AS x ; B AS y FILTER x.v > y.v",
        "SELECT NEXT * WHERE MAX(A+)",
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


def test_the_deciders_name_what_they_do_not_take() -> None:
    with pytest.raises(cerlab.Unsupported, match="CER0483"):
        cerlab.satisfiable("<TRUE>^ . <v = 1>")
