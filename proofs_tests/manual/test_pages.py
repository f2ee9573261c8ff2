"""The manual's lists are complete, its links lead somewhere, and its Python runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab.cli import main
from cerlab.io import synthetic

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
SHELL = re.compile(r"^ {4}(?:.*\| )?cerlab (.+)$", re.MULTILINE)
ELSEWHERE = {"fuzz", "lab", "spark", "trial"}
"""Commands that wait, start a JVM or other engines: their own tests run them."""
FILE_NAME = re.compile(r"`((?:cerlab|proofs_tests|docs|examples|notebooks|figures)/[\w/.-]*[\w/])`")
LINK = re.compile(r"\{doc\}`(?:[^`<]*<)?([\w/.]+)>?`")


def _name(path: Path) -> str:
    return str(path.relative_to(DOCS))


def test_every_public_name_is_in_the_reference_of_python() -> None:
    page = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    missing = [name for name in cerlab.__all__ if not re.search(rf"cerlab\.{name}\b", page)]
    assert missing == []
    stages = ("formula", "vcea", "cea", "det")  # of a class below the public one
    assert [name for name in stages if f"cerlab.Query.{name}\n" not in page] == []


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_a_page_links_to_pages_that_are_there(path: Path) -> None:
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        page = (path.parent / target).with_suffix(".md")
        assert page.exists(), f"{path.name} links to {target}"


def test_a_file_that_a_text_names_is_there() -> None:
    root = DOCS.parent
    texts = (*PAGES, *root.glob("*.md"), *(root / "notebooks").glob("*.ipynb"))
    mentions = {
        (n, path.name) for path in texts for n in FILE_NAME.findall(path.read_text("utf-8"))
    }
    assert {each for each in mentions if not (root / each[0]).exists()} == set()
    assert len(mentions) > 50


@pytest.mark.parametrize(
    "path", [path for path in PAGES if PYTHON.search(path.read_text())], ids=_name
)
def test_the_python_of_a_page_runs(path: Path) -> None:
    namespace: dict[str, object] = {}
    for block in PYTHON.findall(path.read_text(encoding="utf-8")):
        exec(compile(block, str(path), "exec"), namespace)


def test_what_python_prints_is_shown_below_it() -> None:
    """A fence is shown as it is written; the output of a cell is below it."""
    pages = {_name(path): PYTHON.findall(path.read_text(encoding="utf-8")) for path in PAGES}
    assert not [name for name, blocks in pages.items() if any("print(" in b for b in blocks)]


COMMANDS = [
    pytest.param(command, id=f"{_name(path)}: {command}")
    for path in PAGES
    for command in SHELL.findall(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_a_page_is_one(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    words = shlex.split(command)
    if words[0] in ELSEWHERE:
        _is_read(words, capsys)
        return
    monkeypatch.chdir(tmp_path)
    _write_files()
    with Path("trades.ndjson").open(encoding="utf-8") as events_file:
        monkeypatch.setattr("sys.stdin", events_file)
        assert main(words) in (0, 1), capsys.readouterr().err


def _is_read(words: list[str], capsys: Any) -> None:
    """All its options are ones that the command has."""
    assert main([words[0], "--help"]) == 0
    output = capsys.readouterr().out
    assert all(re.search(rf"{word}\b", output) for word in words if word.startswith("--"))


def _write_files() -> None:
    """Write the files that the pages call `trades`, `events`, `pairs.ceql` and `query.ceql`."""
    stream = synthetic.stocks(60, seed=3)
    tables = list(synthetic.event_batches(stream, synthetic.STOCK_SCHEMA))
    for name in ("trades", "events"):
        pq.write_table(pa.Table.from_batches(tables), f"{name}.parquet")
    assert main(["convert", "trades.parquet", "trades.ndjson"]) == 0
    text = "SELECT * WHERE SELL AS a ; BUY AS b PARTITION BY [name] WITHIN 20 EVENTS"
    for name in ("pairs", "query"):
        Path(f"{name}.ceql").write_text(text, encoding="utf-8")
