"""What the manual lists is complete, its links lead somewhere, and its blocks of Python run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cerlab

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\{doc\}`(?:[^`<]*<)?([\w/.]+)>?`")


def _name(path: Path) -> str:
    return str(path.relative_to(DOCS))


def test_every_public_name_is_in_the_reference_of_python() -> None:
    page = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    missing = [name for name in cerlab.__all__ if not re.search(rf"cerlab\.{name}\b", page)]
    assert missing == []


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_a_page_links_to_pages_that_are_there(path: Path) -> None:
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        page = (path.parent / target).with_suffix(".md")
        assert page.exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize(
    "path", [path for path in PAGES if PYTHON.search(path.read_text())], ids=_name
)
def test_the_python_of_a_page_runs(path: Path) -> None:
    namespace: dict[str, object] = {}
    for block in PYTHON.findall(path.read_text(encoding="utf-8")):
        exec(compile(block, str(path), "exec"), namespace)
