"""Timelines say what the answers are: read back from the SVG, mark by mark."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest

import cerlab
from cerlab import BadData, CerlabError, ComplexEvent, Query, UsageError, evaluate, show
from cerlab import timeline as asked
from cerlab.api.timelines import MOST_ANSWERS
from cerlab.model.answer import by_end
from cerlab.viz.timeline import ANSWERS, EVENTS, timeline, timeline_text
from cerlab.viz.timeline_value import COLOURS, MARKERS, SHAPES, Row, look, own_numbers
from proofs_tests.random_cases import random_case
from proofs_tests.suite import random_suite
from proofs_tests.viz.timeline_pictures import SVG, check_picture, read_back

HTTT = [{"type": kind} for kind in "AACAB"]
LONG = [{"type": "A" if n % 7 else "B", "t": n * n} for n in range(5000)]


def test_two_rows_by_hand() -> None:
    long, short = ComplexEvent(0, 4, (0, 4)), ComplexEvent(1, 4, (4,))
    picture = check_picture(
        timeline({"ALL": [long, short], "LAST": [short]}, HTTT),
        {"ALL": [long, short], "LAST": [short]},
    )
    x = list(picture.events.values())
    assert x[1] - x[0] == x[4] - x[3] == 46
    assert [(d.answer, d.kind, d.marks) for d in picture.rows[0]] == [
        (long, "answer differs", (x[0], x[4])),
        (short, "answer", (x[4],)),
    ]
    assert [(d.answer, d.kind) for d in picture.rows[1]] == [(long, "ghost"), (short, "answer")]
    for words in ("2 answers", "1 answer, lacks 1", "Not in every row: 1 of 2 answers."):
        assert words in picture.words


def test_what_each_of_three_rows_lacks() -> None:
    a, b, c = (ComplexEvent(k, k, (k,)) for k in range(3))
    answers = {"one": [a, b, c], "two": [a, b], "three": [a]}
    words = check_picture(timeline(answers, HTTT), answers).words
    for row in ("one 3 answers two", "two 2 answers, lacks 1 three", "three 1 answer, lacks 2"):
        assert row in words
    assert "Not in every row: 2 of 3 answers." in words


def test_what_only_the_row_of_all_has_is_not_highlighted() -> None:
    a, b, c = (ComplexEvent(0, k, (0, k)) for k in (1, 2, 3))
    rows = {"ALL": [a, b, c], "NEXT": [a, b], "LAST": [a]}
    picture = check_picture(timeline(rows, HTTT), rows)
    assert [[one.kind for one in row] for row in picture.rows] == [
        ["answer"] * 3,
        ["answer", "answer differs", "ghost"],
        ["answer", "ghost", "ghost"],
    ]


def test_of_much_that_a_row_lacks_it_is_said_how_much() -> None:
    answers = [ComplexEvent(0, 4, (0, k, 4)) for k in range(1, 4)] + [ComplexEvent(0, 4, (0, 4))]
    rows = {"ALL": [*answers, ComplexEvent(1, 2, (1, 2))], "one": answers[-1:]}
    T = timeline(rows, HTTT)
    picture = check_picture(T, rows)
    assert [len(row) for row in picture.rows] == [5, 1]
    assert "one 1 answer, lacks 4" in picture.words
    lines = timeline_text(T).splitlines()
    assert [line[:3] for line in lines].index("one") == len(lines) - 2


def test_a_kind_of_event_looks_the_same_in_every_picture_of_a_session() -> None:
    def shapes(types: str) -> dict[str | None, str | None]:
        picture = timeline({"r": []}, [{"type": kind} for kind in types]).svg()
        keys = ElementTree.fromstring(picture).iterfind(f"{SVG}g[@class='key']")
        return {key[1].text: key[0].get("class", "") + key[0].get("d", "") for key in keys}

    with own_numbers():
        assert shapes("AB") == shapes("BA")
        assert shapes("AB").items() <= shapes("CBA").items()
        before = shapes("C")
    with own_numbers():
        assert shapes("C") != before


def test_text_by_hand() -> None:
    answers = [ComplexEvent(0, 4, (0, 2, 4)), ComplexEvent(1, 1, ())]
    assert timeline_text(timeline({"one": answers}, HTTT)).splitlines() == [
        "     0 1 2 3 4",
        "     A A C A B",
        "one  ●───●───●",
        "       │",
    ]


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@random_suite(2_000)
def test_random_strategies(rng: Random) -> bool:
    names = ["ALL", "STRICT", "NEXT", "LAST", "MAX"]
    sample = random_case(rng)
    some = rng.sample(names, rng.randrange(1, 4))
    answers_of = {}
    try:
        for name in some:
            ast = asked_of(sample.query, name)
            answers_of[name] = evaluate(ast, sample.stream)
    except CerlabError:
        return False
    T = asked(sample.query, sample.stream, strategies=some)
    assert [list(row.answers) for row in T.rows] == [answers_of[name] for name in some]
    picture = check_picture(T, answers_of)
    union = sorted({a for answers in answers_of.values() for a in answers}, key=by_end)
    visible = {mark.answer for row in picture.rows for mark in row}
    assert visible <= set(union)
    for row, answers in zip(picture.rows, answers_of.values(), strict=True):
        own = {mark.answer for mark in row if mark.kind != "ghost"}
        assert min(len(answers), ANSWERS) <= len(own), "the limit is that of each row"
    if len(union) > len(visible):
        assert f"{len(visible)} of {len(union)} answers" in picture.words
    differing = sum(any(a not in answers for answers in answers_of.values()) for a in union)
    if len(some) > 1 and differing:
        assert f"Not in every row: {differing} of {len(union)} answer" in picture.words
    return bool(union)


def asked_of(query: Query, name: str) -> Query:
    """The query under another strategy, by its text."""
    text = re.sub(r"^SELECT (?:(?:STRICT|NEXT|LAST|MAX) )?", f"SELECT {name} ", query.text)
    return cerlab.parse_query(text)


def test_a_long_stream_is_cut_around_what_is_shown() -> None:
    answers = [ComplexEvent(k, k + 900, (k, k + 450, k + 900)) for k in range(1000, 1200, 4)]
    T = timeline({"x": answers}, LONG)
    picture = check_picture(T, {"x": answers})
    assert len(picture.events) <= EVENTS
    visible = [mark.answer for mark in picture.rows[0]]
    assert visible == answers[: len(visible)]
    assert len(visible) == ANSWERS
    positions = {p for answer in visible for p in answer.positions}
    assert positions <= picture.events.keys()
    assert f"{len(T.ticks)} of 5,000 events; 24 of 50 answers" in picture.words
    assert "not shown" in T.svg()


def test_what_no_answer_needs_is_shown_only_beside_it() -> None:
    T = timeline({"x": [ComplexEvent(k, k, (k,)) for k in range(100)]}, LONG)
    assert [tick.position for tick in T.ticks] == list(range(ANSWERS + 2))
    assert "events 0-25 of 5,000; 24 of 100 answers" in read_back(T.svg()).words


def test_an_answer_larger_than_the_picture() -> None:
    answer = ComplexEvent(3, 4000, tuple(range(3, 4001)))
    T = timeline({"x": [answer]}, LONG)
    picture = check_picture(T, {"x": [answer]})
    assert picture.events.keys() == {*range(2, 2 + EVENTS - 1), 4000}
    assert "positions in the gaps are not drawn" in picture.words


def test_without_answers_the_stream_begins_the_picture() -> None:
    T = timeline({"x": []}, LONG)
    assert [tick.position for tick in T.ticks] == list(range(EVENTS))
    assert "events 0-79 of 5,000" in read_back(T.svg()).words
    assert "no events" in read_back(timeline({}, []).svg()).words


def test_differences_are_shown_before_what_rows_share() -> None:
    common = [ComplexEvent(k, k, (k,)) for k in range(40)]
    alone = ComplexEvent(60, 61, (60,))
    T = timeline({"one": common, "other": [*common, alone]}, LONG[:70])
    picture = check_picture(T, {"one": common, "other": [*common, alone]})
    assert picture.rows[1][-1].answer == alone
    assert sum(one.kind != "ghost" for one in picture.rows[0]) == ANSWERS


def test_rows_that_are_not_listed_to_the_end_are_compared_as_far_as_they_go() -> None:
    some = [ComplexEvent(k, k, (k,)) for k in range(6)]
    cut = Row("cut", tuple(some[:4]), None, complete_before=3)
    T = timeline([cut, Row("whole", tuple(some), 6)], LONG[:10])
    assert T.distinct == T.common == 3
    words = read_back(T.svg()).words
    assert "over 4 answers" in words
    assert "All rows have the same 3 answers that end before position 3." in words


def test_a_query_with_more_answers_than_are_listed() -> None:
    events = [{"type": "A"}] * 20
    T = asked("SELECT * WHERE A+", events, strategies=["ALL", "MAX"])
    assert [row.total for row in T.rows] == [2**20 - 1, 20]
    end = T.rows[0].complete_before
    assert end is not None
    assert len(T.rows[0].answers) == MOST_ANSWERS + 1
    assert T.distinct == sum(a.end < end for a in T.rows[0].answers) == 2**end - 1


def test_a_row_with_many_answers_hides_none_of_another_row() -> None:
    """Neither by the limit on shown answers nor by the one on listed answers."""
    for length in (8, 20):
        events = [{"type": "A"}] * length + [{"type": "B"}] * 2
        names = ["ALL", "STRICT", "NEXT", "LAST", "MAX"]
        T = asked("SELECT * WHERE A+ ; B", events, strategies=names)
        picture = read_back(T.svg())
        for name, row, drawn in zip(names[1:], T.rows[1:], picture.rows[1:], strict=True):
            own = {one.answer for one in drawn if one.kind != "ghost"}
            assert own == set(row.answers), name
            assert row.total == len(row.answers) <= ANSWERS
        if (end := T.rows[0].complete_before) is not None:
            listed = set(T.rows[0].answers)
            unknown = [a for row in T.rows for a in row.answers if a.end >= end and a not in listed]
            assert unknown
            assert not {one.answer for one in picture.rows[0]} & {*unknown}, (
                "it is not said to lack them"
            )
            assert (
                f"of over {len({a for row in T.rows for a in row.answers}):,} answers"
                in picture.words
            )


def test_an_attribute_places_the_events() -> None:
    events = [{"type": "A", "t": t} for t in (0, 1, 1, 10)]
    x = list(read_back(timeline({"x": []}, events, axis="t").svg()).events.values())
    assert x[2] == x[1]
    assert x[3] - x[0] == pytest.approx(10 * (x[1] - x[0]), abs=0.02)
    with pytest.raises(BadData, match="no time"):
        timeline({"x": []}, [{"type": "A"}], axis="t")


@random_suite(2_000, needs_answers=0.5)
def test_times_that_go_back_are_drawn_where_they_are(rng: Random) -> bool:
    """Positions are proportional to times, and bars of one track do not touch."""
    times = [rng.choice((0, 1, 2.5, rng.randint(0, 9))) for _ in range(rng.randint(2, 7))]
    pairs = {tuple(sorted(rng.choices(range(len(times)), k=2))) for _ in range(6)}
    answers = [ComplexEvent(start, end, (start, end)) for start, end in sorted(pairs)]
    events = [{"type": "A", "t": t} for t in times]
    T = timeline({"x": answers}, events, axis="t")
    picture = read_back(T.svg())
    (row,) = picture.rows
    xs, first = picture.events, min(times)
    in_order = read_back(timeline({"x": []}, sorted(events, key=by_time), axis="t").svg())
    assert sorted(xs.values()) == list(in_order.events.values())
    long = (max(xs.values()) - min(xs.values())) / (max(times) - first or 1)
    for position, t in enumerate(times):
        assert xs[position] == pytest.approx(min(xs.values()) + (t - first) * long, abs=0.02)
    assert {one.answer for one in row} == {*answers}
    for k, one in enumerate(row):
        assert (one.start, one.end) == (xs[one.answer.start], xs[one.answer.end])
        left, right = sorted((one.start, one.end))
        for other in row[:k]:
            apart = right < min(other.start, other.end) or left > max(other.start, other.end)
            assert one.y != other.y or apart, (times, answers)
    highlights = timeline({"x": answers, "y": answers[1:]}, events, axis="t").svg()
    assert len(read_back(highlights).rows) == 2
    return times != sorted(times)


def test_columns_of_text_are_by_position_where_times_go_back() -> None:
    events = [{"type": "A", "t": t} for t in (0, 9, 1, 10)]
    answers = [ComplexEvent(0, 2, (0, 2)), ComplexEvent(1, 3, (1, 3))]
    lines = timeline_text(timeline({"x": answers}, events, axis="t")).splitlines()
    assert lines[2:] == ["x  ●───●", "     ●───●"]


def by_time(event: dict[str, Any]) -> Any:
    return event["t"]


def test_what_is_written_beside_events() -> None:
    events = [{"type": "A", "n": k, "t": 10 * k, "s": "xyx"[k]} for k in range(3)]
    rows: dict[str, list[ComplexEvent]] = {"r": []}
    words = {
        (): "position A 0 A 1 A 2 r",
        (("label", "n"),): "n position 0 0 1 1 2 2 r",
        (("by", "s"),): "position x 0 y 1 x 2 r",
        (("axis", "t"), ("label", "n")): "n by t 0 0 1 10 2 20 r",
        (("label", "m"),): "m position none 0 none 1 none 2 r",
    }
    for options, expected in words.items():
        T = timeline(rows, events, **dict(options))  # type: ignore[arg-type]
        assert read_back(T.svg()).words.startswith(expected)
    by_s = timeline(rows, events, by="s")
    assert [tick.kind for tick in by_s.ticks] == ["x", "y", "x"]
    many_events = timeline(rows, [{"type": "A"}] * 80)
    positions = [int(w) for w in read_back(many_events.svg()).words.split() if w.isdecimal()]
    assert positions[:3] == [0, 2, 4]


def test_evaluators_and_lists_side_by_side() -> None:
    T = asked("A ; B", HTTT, evaluators=["tecs", "reference", "automaton", "lists"])
    assert [row.name for row in T.rows] == ["tecs", "reference", "automaton", "lists"]
    assert T.distinct == T.common == 3
    T = asked("A ; B", HTTT, strategies=["LAST"], evaluators=["tecs", "reference"])
    assert [row.name for row in T.rows] == ["LAST, tecs", "LAST, reference"]
    answers = evaluate("A ; B", HTTT)
    matches = cerlab.parse_query("SELECT * WHERE A ; B").run(HTTT)
    sremo = asked("<type = 'A'>^ . <TRUE>* . <type = 'B'>^", HTTT)
    for picture in (show(answers, HTTT), asked(matches), asked(answers, HTTT), sremo):
        assert [list(row.answers) for row in picture.rows] == [answers]
    with pytest.raises(UsageError, match="unknown strategy"):
        asked("A ; B", HTTT, strategies=["LATEST"])


def test_seven_kinds_of_events_differ_in_shape_and_forty_nine_in_something() -> None:
    assert len(SHAPES) == len(set(SHAPES)) == len(set(MARKERS)) == len(COLOURS)
    assert len({shape for shape, _ in map(look, range(7))}) == 7
    assert len(set(map(look, range(49)))) == 49
    seven = timeline({"r": []}, [{"type": kind} for kind in "ABCDEFG"])
    with own_numbers():
        keys = ElementTree.fromstring(seven.svg()).iterfind(f"{SVG}g[@class='key']/{SVG}path")
    assert len({key.get("d") for key in keys}) == 7


@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_themes(theme: str) -> None:
    T = asked("A ; B", HTTT)
    svg = T.svg(theme)
    assert ("prefers-color-scheme" in svg) == ("var(--" in svg) == (theme == "auto")
    assert read_back(svg) == read_back(T.svg())


def test_an_unknown_theme_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown theme"):
        asked("A ; B", HTTT).svg("drak")


def test_what_is_written_cannot_break_the_picture() -> None:
    kind = "<script>&\"'\0\x1b]]>"
    answer = [ComplexEvent(0, 0, (0,))]
    T = timeline({kind: answer, "--><g>": []}, [{"type": kind, kind: kind}])
    picture = read_back(T.svg())
    assert "<script>&\"'" in picture.words
    assert [len(row) for row in picture.rows] == [1, 1]


def test_matplotlib_draws_the_same_marks() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    T = asked("A ; B", HTTT, strategies=["ALL", "LAST"])
    axes = Figure().subplots()
    with own_numbers():
        assert T.plot(axes) is axes
    marks = [line for line in axes.lines if line.get_marker() in "os^D" and len(line.get_xdata())]
    in_rows = [line for line in marks if line.get_ydata()[0] < 1]
    expected = [float(p) for bar in T.bars for p in bar.answer.positions] * 2
    assert sorted(float(line.get_xdata()[0]) for line in in_rows) == sorted(expected)
    hollow = sum(line.get_markerfacecolor() == "none" for line in in_rows)
    assert hollow == sum(len(bar.answer.positions) * (2 - len(bar.rows)) for bar in T.bars) == 4
    arcs = [patch.get_path().vertices[[0, -1], 0].tolist() for patch in axes.patches]
    pairs = [[*map(float, bar.answer.positions)] for bar in T.bars for _ in bar.rows]
    assert sorted(arcs) == sorted(pairs), "each answer of two events is one arc"
    assert [tick.get_text() for tick in axes.get_yticklabels()][1:] == [
        "ALL\n3 answers",
        "LAST\n1 answer, lacks 2",
    ]


def test_the_bytes_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "import cerlab, sys\n"
        "events = [{'type': k, 'v': n} for n, k in enumerate('BACABCAB')]\n"
        "T = cerlab.timeline('A ; B', events, strategies=['ALL', 'LAST', 'MAX'])\n"
        "sys.stdout.buffer.write((T.svg() + str(T)).encode())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1
