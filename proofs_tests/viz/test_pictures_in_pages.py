"""Pictures in a page: none is cut without a cue to scroll, and steppers have no large gaps."""

from __future__ import annotations

import re
from typing import Any

import pytest

import cerlab
from cerlab import display
from proofs_tests.browser import OVERLAPS

pytestmark = pytest.mark.services

LONG = cerlab.parse_query(
    "SELECT * WHERE A AS a ; B AS b ; C AS c ; D AS d ; E AS e FILTER a[price > 100] AND "
    "b[name = 'INTC'] AND c[volume >= 1000]"
)
MAXIMAL = cerlab.parse_query("SELECT MAX * WHERE (A OR B)+ AS a ; C AS c")
ITERATED = cerlab.parse_query("SELECT * WHERE A AS a ; B+ AS b ; C AS c")
EVENTS = [{"type": kind, "price": n} for n, kind in enumerate("ABBCABCD")]
WORDS = ["TRIAGE", "TRIAGE", "DOCTOR", "ADMIT", "CALL"]
VALUES: dict[str, Any] = {
    "query": LONG,
    "formula": LONG.formula,
    "cea": LONG.cea,
    "vcea": LONG.vcea,
    "det": MAXIMAL.det,
    "table": LONG.table,
    "steps": cerlab.step(LONG, EVENTS),
    "maximal steps": cerlab.step(MAXIMAL, EVENTS),
    "iterated steps": cerlab.step(ITERATED, EVENTS),
    "timeline": cerlab.timeline(LONG.formula, EVENTS),
    "capitals": cerlab.timeline("TRIAGE ; DOCTOR", [{"type": t} for t in WORDS]),
}

CUT = """() => [...document.querySelectorAll("svg, table, pre")]
    .filter((each) => each.getBoundingClientRect().width && !each.parentElement.closest("svg"))
    .filter((each) => each.getBoundingClientRect().right > innerWidth - 8)
    .filter((each) => {
        for (let box = each; box !== document.body; box = box.parentElement) {
            const style = getComputedStyle(box);
            const scrolls = ["auto", "scroll"].includes(style.overflowX);
            if (scrolls && style.backgroundImage.includes("gradient")) return false;
        }
        return true;
    })
    .map((each) => each.outerHTML.slice(0, 80))"""
"""The pictures that go beyond the page, and are in no box that scrolls and shows it by a shade."""

LOST = """() => [...document.querySelectorAll("svg")]
    .filter((each) => !each.parentElement.closest("svg") && each.getBoundingClientRect().width)
    .flatMap((sheet) => {
        const box = sheet.getBoundingClientRect();
        return [...sheet.querySelectorAll("text, ellipse, path, rect, polygon")]
            .map((part) => [part, part.getBoundingClientRect()])
            .filter(([, at]) => at.width)
            .filter(([, at]) => at.right > box.right + 2 || at.bottom > box.bottom + 2)
            .map(([part]) => part.outerHTML.slice(0, 80));
    })"""
"""The parts of pictures outside their sheets, at the right or at the bottom."""


@pytest.mark.parametrize("width", [964, 420])
@pytest.mark.parametrize("name", VALUES)
def test_nothing_is_cut_without_a_cue(name: str, width: int, chromium: Any) -> None:
    html = display.render(VALUES[name], "text/html")
    page = chromium.new_page(viewport={"width": width, "height": 900})
    page.set_content(f"<body>{html}</body>")
    assert page.evaluate(CUT) == []
    assert page.evaluate(LOST) == []
    page.close()


@pytest.mark.parametrize("name", VALUES)
def test_no_word_lies_on_another(name: str, chromium: Any) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.set_content(f"<body>{display.render(VALUES[name], 'text/html')}</body>")
    assert page.evaluate(OVERLAPS) == []
    page.close()


@pytest.mark.parametrize("name", ["steps", "maximal steps", "iterated steps"])
def test_words_of_a_step_leave_less_than_a_hundred_pixels_above_the_machine(name: str) -> None:
    """All frames have the height for the longest words, which a short step leaves empty."""
    steps = VALUES[name]
    for frame in (steps.frame(k) for k in range(len(steps))):
        tops = [float(y) for y in re.findall(r'<text x="12" y="([\d.]+)"', frame)]
        machine = re.search(r'<svg x="12" y="([\d.]+)"', frame)
        assert machine is not None
        assert float(machine[1]) - max(tops) < 100
