"""Docstrings, help texts and messages begin with a verb or a noun, not with "The same" or "What".

help() and an error show one sentence alone, where a reader cannot know what "the same" refers to.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import cerlab

PACKAGE = Path(cerlab.__file__).parent
OPENINGS = re.compile(
    r"(The same|All of (it|them)|None|Nothing|That|Those|This|Some|As|It"
    r"|What|Where|Which|Whether)\b"
)
FOLDERS = sorted(each.name for each in PACKAGE.iterdir() if (each / "__init__.py").exists())


def openings(source: str) -> Iterator[str]:
    """Yield the texts in a module, of two words or more, that begin with a banned opening."""
    nodes = list(ast.walk(ast.parse(source)))
    later = {part for each in nodes if isinstance(each, ast.JoinedStr) for part in each.values[1:]}
    for node in nodes:
        text = node.value if isinstance(node, ast.Constant) and node not in later else None
        if isinstance(text, str) and " " in text and OPENINGS.match(text):
            yield text


def found_in(files: Iterable[Path]) -> Iterator[str]:
    """Yield the texts in some files that begin with a banned opening, with their files."""
    for file in sorted(files):
        source = file.read_text(encoding="utf-8")
        if OPENINGS.search(source):  # parsing takes longer
            yield from (f"{file.relative_to(PACKAGE)}: {text}" for text in openings(source))


def test_openings_are_those_of_whole_texts() -> None:
    source = 'def f():\n "What it is."\n raise E("None", f"{x}: It is", hint=f"Nothing in {y}")'
    assert list(openings(source)) == ["What it is.", "Nothing in "]


@pytest.mark.parametrize("folder", [".", *FOLDERS])
def test_no_text_begins_with_a_word_that_points_back(folder: str) -> None:
    files = PACKAGE.glob("*.py") if folder == "." else (PACKAGE / folder).rglob("*.py")
    assert list(found_in(files)) == []


def test_every_docstring_can_be_encoded() -> None:
    # Python in WebAssembly encodes docstrings when it compiles: a lone surrogate stops the lab.
    for file in PACKAGE.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        if re.search(r"\\u[dD][89a-fA-F]", source):  # parsing takes longer
            for node in ast.walk(ast.parse(source)):
                if isinstance(
                    node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
                ):
                    (ast.get_docstring(node) or "").encode()


def test_no_cause_or_fix_of_an_error_begins_with_one() -> None:
    for file in (PACKAGE / "catalogue").glob("*.txt"):
        texts = re.findall(r"^(?:CER\d{4}|=) (.*)", file.read_text(encoding="utf-8"), re.MULTILINE)
        assert texts
        assert list(filter(OPENINGS.match, texts)) == []
