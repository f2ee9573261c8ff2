"""The site builds without a warning, and its search answers what people ask (in a browser)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from proofs_tests.browser import OVERLAPS

ROOT = Path(__file__).parents[2]
OUTSIDE = ("https://github.com/pradyunsg/furo",)
"""Addresses outside the manual that links may lead to (its theme): it is read offline."""

RESULTS = 3
"""Results of a search that a reader opens before giving up."""

QUESTIONS = [
    pytest.param(*(part.strip() for part in line.split("|")), id=line.split("|")[0].strip())
    for line in (Path(__file__).parent / "questions.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages as HTML. All notebooks run for it, and every cell of code on a page."""
    for package in ("sphinx", "myst_nb", "furo", "railroad", "pyspark"):
        pytest.importorskip(package, reason=f"the manual needs {package}")
    out = tmp_path_factory.mktemp("manual")
    cells = f"-Dnb_execution_cache_path={out / 'cells'}"
    build = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", cells, "docs", out / "html"],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stdout[-2000:] + build.stderr[-6000:]
    return out / "html"


def test_notebooks_are_in_the_site_as_they_ran_and_links_lead_to_what_is_there(site: Path) -> None:
    """One test, since each worker that needs the site would build it."""
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        course = site / "course" / f"{notebook.stem}.html"
        shown = course.read_text(encoding="utf-8")
        assert "cell_output" in shown
        assert ".widget()" not in notebook.read_text(encoding="utf-8") or STEPPER in shown
        assert "widget-state" not in shown, "nothing on the page reads it"
    diagrams = sorted(site.glob("_images/railroad-*.svg"))
    assert len(diagrams) == sum(
        p.read_text().count('class="railroad"') for p in site.rglob("*.html")
    )
    for diagram in diagrams:
        alone = ElementTree.parse(diagram).getroot()
        assert alone.tag == "{http://www.w3.org/2000/svg}svg"
        assert "font: 14px" in "".join(alone.itertext())
    for page in sorted(site.rglob("*.html")):
        fetched = re.findall(FETCHED, page.read_text(encoding="utf-8"))
        assert fetched == [], f"{page.name} needs a network"
        for target in re.findall(r'<a [^>]*href="([^"]+)"', page.read_text(encoding="utf-8")):
            address, _, place = unescape(target).partition("#")
            if re.match(r"https?:", address):
                assert address.startswith(OUTSIDE), f"{page.name} links to {address}"
                continue
            other = page if not address else (page.parent / address).resolve()
            assert other.is_file(), f"{page.name} links to {target}"
            if place and other.suffix == ".html":
                assert place in _places(other), f"{page.name} links to {target}"


STEPPER = '<div class="cerlab-frame"><svg'
"""Start of the picture that stands for a stepper where no kernel runs."""

FETCHED = r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(https?:[^"]+)"'
"""Addresses that a browser fetches from elsewhere to show a page."""


@cache
def _places(page: Path) -> frozenset[str]:
    return frozenset(re.findall(r' id="([^"]+)"', page.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("width", "theme"), [(1280, "light"), pytest.param(420, "dark", marks=pytest.mark.night)]
)
def test_nothing_is_wider_than_its_column_without_a_way_to_scroll_nor_too_small_to_be_read(
    width: int, theme: str, chromium: Any, site: Path
) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri())
        assert page.evaluate(WIDE) == [], path.name
        assert page.evaluate(NO_CUE) == [], path.name
        assert page.evaluate(SMALL) == [], path.name
        assert page.evaluate(OVERLAPS) == [], path.name
    page.close()


WIDE = """() => {
    const scrolls = (element) => {
        for (let each = element; each && each !== document.body; each = each.parentElement)
            if (["auto", "scroll"].includes(getComputedStyle(each).overflowX)) return true;
        return false;
    };
    const column = document.querySelector("article");
    if (!column) return [];
    const right = column.getBoundingClientRect().right + 5; // signatures stand out a little
    return [...column.querySelectorAll("svg, table, pre, img, iframe, figure, p, li, dt, dd")]
        .filter((each) => each.getBoundingClientRect().right > right && !scrolls(each))
        .map((each) => `${each.tagName} ${(each.textContent ?? "").slice(0, 60)}`);
}"""
"""Elements of a page that are wider than their column and in no box that scrolls."""


NO_CUE = """() => [...document.querySelectorAll("article *")]
    .filter((each) => each.scrollWidth > each.clientWidth + 1)
    .map((each) => [each, getComputedStyle(each)])
    .filter(([, style]) => ["auto", "scroll"].includes(style.overflowX))
    .filter(([, style]) => !style.backgroundImage.includes("gradient"))
    .map(([each]) => `${each.tagName} ${each.className}`)"""
"""Boxes that scroll without a shade at their edge as a cue."""

SMALL = """() => [...document.querySelectorAll("article svg text")]
    .filter((each) => each.getBoundingClientRect().width)
    .map((each) => [each.textContent, each.getScreenCTM(), getComputedStyle(each).fontSize])
    .filter(([, to, size]) => parseFloat(size) * Math.hypot(to.a, to.b) < 9.4)
    .map(([text]) => text)
    .concat([...document.querySelectorAll("article img")]
        .filter((each) => each.getBoundingClientRect().width < 0.6 * each.naturalWidth)
        .map((each) => each.src))"""
"""Words in pictures shown less than 9.4 pixels high, and pictures in files far below their size."""


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.night)])
def test_pictures_go_by_the_theme_that_a_reader_chooses(
    scheme: str, chromium: Any, site: Path
) -> None:
    page = chromium.new_page(color_scheme=scheme)
    page.goto((site / "start.html").as_uri())
    for theme in ("light", "dark"):
        while page.evaluate("document.body.dataset.theme") != theme:
            page.locator(".theme-toggle:visible").first.click()
        paints = page.evaluate(INKS)
        assert paints, "no words in pictures"
        assert all((sum(paint) > 382) == (theme == "dark") for paint in paints), (theme, paints)
    page.close()


INKS = """() => [...document.querySelectorAll("svg.cerlab-graph text, svg.cerlab-timeline text")]
    .map((each) => getComputedStyle(each).fill.match(/\\d+/g).slice(0, 3).map(Number))"""
"""The colours of the words in pictures, as red, green and blue."""


@pytest.mark.parametrize(("question", "words", "answer"), QUESTIONS)
def test_one_search_or_two_clicks_answer(
    question: str, words: str, answer: str, chromium: Any, site: Path
) -> None:
    page = chromium.new_page()
    if words.startswith(">"):
        page.goto((site / "index.html").as_uri())
        for link in words[1:].split(">"):
            page.locator("article").get_by_text(link.strip()).first.click()
        assert answer in _text(page)
        page.close()
        return
    page.goto(f"{(site / 'search.html').as_uri()}?q={words.replace(' ', '+')}")
    page.get_by_text(re.compile("Search finished|did not match")).wait_for()
    links = page.eval_on_selector_all("#search-results li a", "all => all.map(a => a.href)")
    pages = []
    for link in list(dict.fromkeys(link.split("#")[0].split("?")[0] for link in links))[:RESULTS]:
        page.goto(link)
        pages.append(link.rsplit("/", 1)[-1])
        if answer.lower() in _text(page).lower():
            page.close()
            return
    page.close()
    raise AssertionError(f"{question} {words!r} led to {pages}, none of which says {answer!r}")


def _text(page: Any) -> str:
    return " ".join(page.inner_text("article").split())
