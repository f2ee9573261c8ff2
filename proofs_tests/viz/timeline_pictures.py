"""Pictures of timelines, read back from the SVG and judged against the answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from cerlab import ComplexEvent
from cerlab.viz.timeline import Timeline
from cerlab.viz.timeline_value import FEW

WITHOUT_RULES = ("cerlab-timeline", "event", "row", "answer", "differs", "key", "break")
"""Classes that name a part of the picture and do not change how it looks."""

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class AnswerPicture:
    """An answer in the picture: its ends and marks as positions of pixels."""

    answer: ComplexEvent
    kind: str
    start: float
    end: float
    marks: tuple[float, ...]
    y: float


@dataclass(frozen=True)
class Picture:
    """The content of an SVG: events by position, and the drawing of each row."""

    events: dict[int, float]
    rows: list[list[AnswerPicture]]
    words: str


def read_back(svg: str) -> Picture:
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root[0].tag == f"{SVG}title"
    assert root[1].tag == f"{SVG}desc"
    _check_classes(root)
    groups = list(root.iter(f"{SVG}g"))
    events = {
        int(g.attrib["data-position"]): _places(g)[0][0]
        for g in groups
        if g.get("class") == "event"
    }
    rows = [
        [_answer_picture(g) for g in row if _is_answer(g)]
        for row in groups
        if row.get("class") == "row"
    ]
    words = " ".join(node.text or "" for node in root.iter(f"{SVG}text"))
    return Picture(events, rows, words)


def _check_classes(root: Any) -> None:
    """Check that the style sheet knows each class, and that the row names have theirs."""
    rules = re.findall(r"\.([a-z]\w*)", root.find(f"{SVG}style").text)
    classes = [node.get("class").split() for node in root.iter() if "class" in node.attrib]
    assert all(classes), "an empty class has no rule"
    assert {name for names in classes for name in names} <= {*rules, *WITHOUT_RULES}
    for row in root.iterfind(f"{SVG}g[@class='row']"):
        assert [text.get("class") for text in row.iterfind(f"{SVG}text")] == ["name", "small"]


def _is_answer(g: Any) -> bool:
    return g.get("class") in ("answer", "answer differs", "ghost")


def _places(g: Any) -> list[tuple[float, float]]:
    matches = [re.match(r"translate\((\S+) (\S+)\)", p.get("transform", "")) for p in g]
    return [(float(at[1]), float(at[2])) for at in matches if at]


def _answer_picture(g: Any) -> AnswerPicture:
    positions = tuple(map(int, g.attrib["data-positions"].split()))
    answer = ComplexEvent(int(g.attrib["data-start"]), int(g.attrib["data-end"]), positions)
    line = next(p.attrib["d"] for p in g if p.get("class") == "interval")
    x, y, end = map(float, re.match(r"M(\S+) (\S+)H([\d.]+)", line).groups())  # type: ignore[union-attr]
    marks = _places(g)
    assert all(height == y for _, height in marks)
    for p in g:
        assert float(p.get("width", 1)) > 0, "a rectangle of no or negative width is not drawn"
        for top in re.findall(r"Q\S+ (\S+) ", p.get("d", "")):
            assert float(top) < y, "an arc is above its line"
    return AnswerPicture(answer, g.attrib["class"], x, end, tuple(at for at, _ in marks), y)


def check_picture(T: Timeline, answers_of: dict[str, list[ComplexEvent]]) -> Picture:
    """Every statement of the picture, against the answers themselves."""
    picture = read_back(T.svg())
    xs = picture.events
    assert list(xs.values()) == sorted(set(xs.values()))
    assert len(picture.rows) == len(answers_of)
    every = {one.answer for row in picture.rows for one in row}
    apart = _apart(every, answers_of)
    for (name, answers), row in zip(answers_of.items(), picture.rows, strict=True):
        lacking = [answer for answer in every if answer not in answers]
        row_answers = every if len(lacking) <= FEW else every - set(lacking)
        assert {one.answer for one in row} == row_answers, name
        for one in row:
            own_kind = "answer differs" if (one.answer, name) in apart else "answer"
            assert one.kind == (own_kind if one.answer in answers else "ghost"), name
            assert (one.start, one.end) == (xs[one.answer.start], xs[one.answer.end])
            assert one.marks == tuple(xs[p] for p in one.answer.positions if p in xs)
        assert all(
            one.end < other.start or other.end < one.start
            for k, one in enumerate(row)
            for other in row[:k]
            if one.y == other.y
        )
    return picture


def _apart(
    every: set[ComplexEvent], answers_of: dict[str, list[ComplexEvent]]
) -> set[tuple[ComplexEvent, str]]:
    """Highlights are in some rows only, and not in most of any row."""
    union = {each for answers in answers_of.values() for each in answers}
    rivals = [row for row, answers in answers_of.items() if set(answers) != union]
    compare = rivals if len(rivals) > 1 else list(answers_of)
    common = set.intersection(*(set(answers_of[row]) for row in compare))
    apart = {row: every & set(answers_of[row]) - common for row in compare}
    too_many = [
        row
        for row, answers in apart.items()
        if len(answers) > max(FEW, len(every & set(answers_of[row])) / 2)
    ]
    return set() if too_many else {(each, row) for row in compare for each in apart[row]}
