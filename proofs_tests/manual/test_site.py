"""The site builds without a warning, and its search answers what people ask (in a browser)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
RESULTS = 3
"""So many results of a search are opened before one gives up."""

QUESTIONS = [
    pytest.param(*(part.strip() for part in line.split("|")), id=line.split("|")[0].strip())
    for line in (Path(__file__).parent / "questions.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("manual")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages as HTML. All notebooks run for it, and every cell of code on a page."""
    for package in ("sphinx", "myst_nb", "furo", "railroad", "pyspark"):
        pytest.importorskip(package, reason=f"the manual needs {package}")
    out = tmp_path_factory.mktemp("manual")
    cells = f"-Dnb_execution_cache_path={out / 'cells'}"
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", cells, "docs", out / "html"],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-6000:]
    return out / "html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None or not find_spec("playwright"):
        pytest.skip("searching the manual needs Chromium and Playwright")
    with import_module("playwright.sync_api").sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def test_every_notebook_is_in_the_site_as_it_ran(site: Path) -> None:
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        page = (site / "course" / f"{notebook.stem}.html").read_text(encoding="utf-8")
        assert "cell_output" in page


@pytest.mark.parametrize(("question", "words", "answer"), QUESTIONS)
def test_one_search_or_two_clicks_answer(
    question: str, words: str, answer: str, browser: Any, site: Path
) -> None:
    page = browser.new_page()
    if words.startswith(">"):
        page.goto((site / "index.html").as_uri())
        for link in words[1:].split(">"):
            page.locator("article").get_by_text(link.strip()).first.click()
        assert answer in _text(page)
        page.close()
        return
    page.goto(f"{(site / 'search.html').as_uri()}?q={words.replace(' ', '+')}")
    page.wait_for_selector("#search-results li a", timeout=10_000)
    page.wait_for_timeout(300)
    links = page.eval_on_selector_all("#search-results li a", "all => all.map(a => a.href)")
    opened = []
    for link in list(dict.fromkeys(link.split("#")[0].split("?")[0] for link in links))[:RESULTS]:
        page.goto(link)
        opened.append(link.rsplit("/", 1)[-1])
        if answer.lower() in _text(page).lower():
            page.close()
            return
    page.close()
    raise AssertionError(f"{question} {words!r} led to {opened}, none of which says {answer!r}")


def _text(page: Any) -> str:
    return " ".join(page.inner_text("article").split())
