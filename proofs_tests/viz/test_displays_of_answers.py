"""Answers, streams, verdicts and what belongs to them show themselves, whatever they hold."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest

import cerlab
from cerlab import (
    ComplexEvent,
    Event,
    Schema,
    Stream,
    Timestamp,
    Valuation,
    Verdict,
    Witness,
    display,
)
from cerlab.api import Answers
from cerlab.model.event import (
    AttributeDeclaration,
    AttributeType,
    EventDeclaration,
    StreamDeclaration,
    Value,
)
from cerlab.viz.answers import MOST, MOST_EVENTS, type_counts
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import random_suite

AB = [{"type": kind, "v": n} for n, kind in enumerate("AAB")]
QUERY = cerlab.parse_query("SELECT * WHERE A ; B")

NASTY = ("<b>", "&amp;", "\"'", "]]>", "\0\x1b[31m", "é\n\t", "x" * 500, "$x^2$", "\ufffe", "–")


def html(value: object) -> ElementTree.Element:
    """The HTML of a value, which is well-formed; where it fails, it raises."""
    text = display.render(value, "text/html")
    assert text is not None
    return ElementTree.fromstring(f"<html>{text}</html>")


def words(value: object) -> str:
    """All that a reader sees of the HTML of a value."""
    root = html(value)
    for style in [parent for parent in root.iter() if parent.find("style") is not None]:
        style.remove(style.find("style"))  # type: ignore[arg-type]
    return " ".join(" ".join(root.itertext()).split())


def check(value: object) -> None:
    """Text always; HTML whose tables can be read aloud; pictures with a title and words."""
    text = display.text(value)
    assert isinstance(text, str)
    assert len(text) < 20_000 or isinstance(value, Schema), "a schema is its declarations"
    html_text = display.render(value, "text/html")
    assert html_text is not None, type(value)
    assert len(html_text) < 200_000
    for table in html(value).iter("table"):
        caption, head = table.find("caption"), table.find("thead/tr")
        assert caption is not None
        assert caption.text
        assert head is not None
        assert [cell.get("scope") for cell in head.findall("th")].count("col") >= len(head) - 1
        for row in table.findall("tbody/tr"):
            assert row[0].tag == "th"
            assert row[0].get("scope") == "row"
            assert len(row) == len(head)
    picture = display.render(value, "image/svg+xml")
    if picture is not None:
        root = ElementTree.fromstring(picture)
        assert root.get("role") == "img"
        assert root[0].tag.endswith("title")
    bundle = value._repr_mimebundle_()  # type: ignore[attr-defined]
    expected = {"text/html": html_text} | ({"image/svg+xml": picture} if picture else {})
    assert bundle == {"text/plain": text} | expected


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@random_suite(2_000)
def test_random_values(rng: Random) -> bool:
    """Events of every kind, with names and texts that would break unescaped output."""
    value = rng.choice(list(KINDS.values()))(rng)
    check(value)
    return True


def _text(rng: Random) -> str:
    return rng.choice((*NASTY, "A", "price", f"n{rng.randrange(99)}"))


def _value(rng: Random) -> Value:
    floats = (0.0, -0.0, 1e308, math.inf, math.nan)
    numbers = (0, -1, 2**63, 10 ** rng.randrange(400), Timestamp(rng.randrange(10**18)))
    return rng.choice((None, True, *floats, *numbers, _text(rng)))


def _event(rng: Random) -> Event:
    names = [_text(rng) for _ in range(rng.choice((0, 1, 3, 30)))]
    stream = _text(rng) if rng.random() < 0.3 else None
    return Event(_text(rng), {name: _value(rng) for name in names}, stream)


def _stream(rng: Random) -> Stream:
    time = rng.choice((None, "t", "<t>"))
    events = [_event(rng) for _ in range(rng.choice((0, 1, 5, 120)))]
    unit = rng.choice((None, "ms")) if time else None
    return Stream.from_events(events, time=time, unit=unit)


def _answer(rng: Random, length: int = 200) -> ComplexEvent:
    start = rng.randrange(length)
    end = rng.randrange(start, length)
    inside = range(start, end + 1)
    return ComplexEvent(start, end, tuple(sorted(rng.sample(inside, rng.randrange(len(inside))))))


def _valuation(rng: Random) -> Valuation:
    labels = {_text(rng): _answer(rng).positions for _ in range(rng.choice((0, 2, 5, 80)))}
    return Valuation(0, 200, labels)


def _case(rng: Random) -> Case:
    while True:
        case = random_case(rng)
        if case.query.machine_kind == "automaton":
            return case


def _answers(rng: Random) -> Answers:
    stream = _stream(rng)
    answers = (
        [_answer(rng, len(stream)) for _ in range(rng.choice((0, 1, 70)))] if len(stream) else []
    )
    return Answers(stream, tuple(answers))


def _witness(rng: Random) -> Witness:
    events = [{"type": _text(rng), _text(rng): _value(rng)} for _ in range(rng.randrange(1, 90))]
    return Witness(events, _answer(rng, len(events)), rng.choice(("left", "right", None)))


def _schema(rng: Random) -> Schema:
    def attribute() -> AttributeDeclaration:
        return AttributeDeclaration(_text(rng), rng.choice(list(AttributeType)), rng.random() < 0.5)

    def event() -> EventDeclaration:
        return EventDeclaration(_text(rng), tuple(attribute() for _ in range(rng.randrange(9))))

    def stream() -> StreamDeclaration:
        return StreamDeclaration(_text(rng), tuple(event() for _ in range(rng.randrange(40))))

    return Schema(tuple(stream() for _ in range(rng.randrange(4))))


def _session(rng: Random) -> object:
    session = QUERY.open()
    session.push(AB * rng.randrange(5))
    return session


def _explanation(rng: Random) -> object:
    case = _case(rng)
    return case.query.explain(case.stream)


def _matches(rng: Random) -> object:
    case = random_case(rng)
    return case.query.run(case.stream)


KINDS: dict[str, Callable[[Random], object]] = {
    "event": _event,
    "stream": _stream,
    "complex event": _answer,
    "valuation": _valuation,
    "matches": _matches,
    "answers": _answers,
    "witness": _witness,
    "verdict": lambda rng: Verdict(
        rng.choice((True, False, None)), rng.choice((None, _witness(rng))), _text(rng)
    ),
    "schema": _schema,
    "plan": lambda rng: _case(rng).query.plan,
    "explanation": _explanation,
    "session": _session,
    "timeline": lambda rng: cerlab.show(_answers(rng).answers[:9], [{"type": _text(rng)}] * 200),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind(kind: str) -> None:
    check(KINDS[kind](Random(7)))


@pytest.mark.parametrize(
    "value",
    [
        ComplexEvent(0, 10**6, tuple(range(10**6))),
        Valuation(0, 10**6, {f"x{n}": (n,) for n in range(10**4)}),
        Event("A", {f"a{n}": n for n in range(10**4)}),
        Event("A", {"a": 10**5000}),
        Stream.from_events([{"type": f"T{n}", f"a{n % 500}": n} for n in range(10**4)]),
        QUERY.run([]),
        QUERY.run([{"type": kind} for kind in "AB"] * 2000),
        cerlab.parse_query("SELECT * WHERE A+").run([{"type": "A"}] * 3000),
        Witness([], ComplexEvent(0, 0, ()), None),
        Schema(()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_empty_and_huge(value: object) -> None:
    if isinstance(value, Witness):
        assert display.mimebundle(value)["text/plain"]
    else:
        check(value)


def test_no_answers_are_said_to_be_none() -> None:
    for value in (QUERY.run([{"type": "A"}] * 3), _many_answers(0)):
        assert words(value).endswith(": 0 answers")
        assert str(display.text(value)).endswith(": 0 answers")


def test_what_is_cut_says_of_how_many() -> None:
    assert "showing 50 of 345 answers" in words(_many_answers(345))
    assert f"{MOST} answers" in words(_many_answers(MOST))
    many = cerlab.parse_query("SELECT * WHERE A+").run([{"type": "A"}] * 1000)
    assert "showing 50 of about 1.07·10^301 answers" in words(many)
    assert "showing 10 of about 1.07·10^301 answers" in str(many)
    assert "showing 50 of 1,000 events" in words(Stream.from_events([{"type": "A"}] * 1000))
    assert "12 of 500 attributes" in words(
        Stream.from_events([{"type": "A"} | dict.fromkeys(map(str, range(500)), 1)])
    )


def _many_answers(n: int) -> Answers:
    stream = Stream.from_events([{"type": "A"}] * n)
    return Answers(stream, tuple(ComplexEvent(k, k, (k,)) for k in range(n)))


def test_a_long_stream_is_not_counted_to_be_shown() -> None:
    answers = _many_answers(MOST_EVENTS + 1)
    assert "showing the first 50 answers; count() returns their number" in words(answers)


def test_the_table_lists_answers_with_their_events() -> None:
    rows = [[cell.text for cell in row] for row in html(QUERY.run(AB)).iter("tr")][1:]
    assert sorted(rows) == [
        ["0", "2", "{0, 2}", "A(v=0) · B(v=2)"],
        ["1", "2", "{1, 2}", "A(v=1) · B(v=2)"],
    ]


def test_a_query_that_cannot_be_answered_says_why() -> None:
    query = cerlab.parse_query("SELECT * WHERE LAST(A AS a ; B AS b FILTER a.v < b.v) ; C")
    assert query.machine_kind != "automaton"
    answers = query.run([{"type": "A"}] * 5000)
    assert "CER0403" in words(answers)
    assert "CER0403" in str(answers)
    bundle = answers._repr_mimebundle_()
    assert bundle.keys() == {"text/plain", "text/html"}


def test_only_the_events_that_are_shown_are_made_of_columns() -> None:
    count = 0

    def load() -> Any:
        nonlocal count
        for n in range(10**6):
            count += 1
            yield Event("A", {"v": n})

    stream = Stream.from_columns({"type": ["A"] * 10**6}, 10**6, load)
    assert "showing 50 of 1,000,000 events" in words(stream)
    assert count <= 51
    assert "showing 20 of 1,000,000" in str(stream)
    assert count <= 100
    cerlab.show([ComplexEvent(200, 210, (200,))], stream).svg()
    assert count <= 500


def test_types_are_counted_over_the_whole_stream() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    kinds = ["B", "A", "B", "C", "B"] * 100
    for stream in (
        Stream.from_events([{"type": kind} for kind in kinds]),
        Stream.from_arrow(pyarrow.table({"type": kinds})),
        Stream.from_arrow(pyarrow.table({"type": pyarrow.array(kinds).dictionary_encode()})),
    ):
        assert list(type_counts(stream).items()) == [("B", 300), ("A", 100), ("C", 100)]
        assert "Events by type type events B 300 A 100 C 100" in words(stream)


def test_a_verdict_shows_the_answer_that_makes_the_difference() -> None:
    verdict = cerlab.equivalent("SELECT * WHERE A ; B", "SELECT LAST * WHERE A ; B")
    text = words(verdict)
    assert text.startswith("does not hold")
    assert "a stream of 3 events on which only the left side answers [0, 2] {0, 2}" in text
    assert "lacks 1" in text
    assert "left   ●━━━●\nright  ○╌╌╌○" in str(verdict)


def test_what_is_not_decided_says_so_once() -> None:
    verdict = Verdict(None, None, "not decided: LIMIT")
    assert str(verdict) == "not decided: LIMIT"
    assert words(verdict).count("not decided") == 1


def test_an_error_shows_its_caret() -> None:
    with pytest.raises(cerlab.QuerySyntaxError) as caught:
        cerlab.parse_query("SELECT * WHERE A ;; B")
    root = ElementTree.fromstring(caught.value._repr_html_())
    assert root.tag == "pre"
    line, caret = (root.text or "").splitlines()[1:3]
    assert line[caret.index("^")] == ";"
    assert caught.value._render_traceback_() == [root.text]


def test_a_fresh_session_shows_values_and_loads_nothing_heavy() -> None:
    program = (
        "import sys, cerlab\n"
        "heavy = {'pandas', 'numba', 'numpy', 'pyarrow', 'pyspark', 'matplotlib', 'pygraphviz',"
        " 'networkx', 'z3', 'IPython'}\n"
        "assert not heavy & sys.modules.keys(), 'import'\n"
        "drawn = {'cerlab.viz.timeline', 'cerlab.viz.answers', 'cerlab.magic',"
        " 'cerlab.viz.html'}\n"
        "assert not drawn & sys.modules.keys(), 'pictures'\n"
        "values = [cerlab.Event('A'), cerlab.ComplexEvent(0, 0, (0,)),"
        " cerlab.Stream.from_events([{'type': 'A'}]),"
        " cerlab.parse_query('SELECT * WHERE A').run([{'type': 'A'}])]\n"
        "for value in values:\n"
        "    assert 'text/html' in value._repr_mimebundle_(), value\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
