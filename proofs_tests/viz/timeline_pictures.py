"""Pictures of timelines, read back from the SVG and judged against the answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from cerlab import ComplexEvent
from cerlab.viz.timeline.layout import Timeline
from cerlab.viz.timeline.value import FEW

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Drawn:
    """An answer as it stands in the picture: its ends and marks as positions of pixels."""

    answer: ComplexEvent
    kind: str
    start: float
    end: float
    marks: tuple[float, ...]
    y: float


@dataclass(frozen=True)
class Picture:
    """What an SVG shows: events by position, and for each row what is drawn in it."""

    events: dict[int, float]
    rows: list[list[Drawn]]
    words: str


def read_back(svg: str) -> Picture:
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root[0].tag == f"{SVG}title"
    assert root[1].tag == f"{SVG}desc"
    groups = list(root.iter(f"{SVG}g"))
    events = {
        int(g.attrib["data-position"]): _places(g)[0][0]
        for g in groups
        if g.get("class") == "event"
    }
    rows = [
        [_drawn(g) for g in row if _is_answer(g)] for row in groups if row.get("class") == "row"
    ]
    words = " ".join(node.text or "" for node in root.iter(f"{SVG}text"))
    return Picture(events, rows, words)


def _is_answer(g: Any) -> bool:
    return g.get("class") in ("answer", "answer differs", "ghost")


def _places(g: Any) -> list[tuple[float, float]]:
    found = [re.match(r"translate\((\S+) (\S+)\)", p.get("transform", "")) for p in g]
    return [(float(at[1]), float(at[2])) for at in found if at]


def _drawn(g: Any) -> Drawn:
    positions = tuple(map(int, g.attrib["data-positions"].split()))
    answer = ComplexEvent(int(g.attrib["data-start"]), int(g.attrib["data-end"]), positions)
    line = next(p.attrib["d"] for p in g if p.get("class") == "interval")
    x, y, end = map(float, re.match(r"M(\S+) (\S+)H([\d.]+)", line).groups())  # type: ignore[union-attr]
    marks = _places(g)
    assert all(height == y for _, height in marks)
    return Drawn(answer, g.attrib["class"], x, end, tuple(at for at, _ in marks), y)


def check_picture(T: Timeline, given: dict[str, list[ComplexEvent]]) -> Picture:
    """Every statement of the picture, against the answers themselves."""
    picture = read_back(T.svg())
    xs = picture.events
    assert list(xs.values()) == sorted(set(xs.values()))
    assert len(picture.rows) == len(given)
    shown = {one.answer for drawn in picture.rows for one in drawn}
    apart = _apart(shown, given)
    for (name, answers), drawn in zip(given.items(), picture.rows, strict=True):
        lacking = [answer for answer in shown if answer not in answers]
        kept = shown if len(lacking) <= FEW else shown - set(lacking)
        assert {one.answer for one in drawn} == kept, name
        for one in drawn:
            expected = "answer differs" if (one.answer, name) in apart else "answer"
            assert one.kind == (expected if one.answer in answers else "ghost"), name
            assert (one.start, one.end) == (xs[one.answer.start], xs[one.answer.end])
            assert one.marks == tuple(xs[p] for p in one.answer.positions if p in xs)
        assert all(
            one.end < other.start or other.end < one.start
            for k, one in enumerate(drawn)
            for other in drawn[:k]
            if one.y == other.y
        )
    return picture


def _apart(
    shown: set[ComplexEvent], given: dict[str, list[ComplexEvent]]
) -> set[tuple[ComplexEvent, str]]:
    """What is highlighted: in some rows only, and not most of any row."""
    union = {each for answers in given.values() for each in answers}
    rivals = [row for row, answers in given.items() if set(answers) != union]
    compared = rivals if len(rivals) > 1 else list(given)
    common = set.intersection(*(set(given[row]) for row in compared))
    apart = {row: shown & set(given[row]) - common for row in compared}
    crowded = [
        row
        for row, answers in apart.items()
        if len(answers) > max(FEW, len(shown & set(given[row])) / 2)
    ]
    return set() if crowded else {(each, row) for row in compared for each in apart[row]}
