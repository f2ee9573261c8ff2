"""Generated parts of the reference pages: commands, errata, the catalogue of errors.

The directive ``commands`` has what ``cerlab COMMAND --help`` prints, ``errata`` what the tests of
misprints say of themselves; the page of errors is written before the pages are read. Signatures
name every keyword.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints
from unittest.mock import patch

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.util.typing import stringify_annotation

import cerlab
from cerlab import catalogue
from cerlab.cli import COMMANDS, main
from cerlab.evaluate.aggregates import Aggregates
from cerlab.io import HowToRead
from cerlab.spark.batch import Options
from cerlab.spark.stream.match import StreamOptions


class Commands(Directive):
    """A section for each command, with its help."""

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the page."""
        return [_help(), *map(_command, COMMANDS)]


def _command(name: str) -> nodes.section:
    section = nodes.section("", nodes.title("", f"cerlab {name}"), _help(name))
    section["ids"].append(f"cerlab-{name}")
    return section


def _help(*command: str) -> nodes.literal_block:
    printed = io.StringIO()
    with (
        contextlib.redirect_stdout(printed),
        contextlib.suppress(SystemExit),
        patch.dict(os.environ, {"COLUMNS": "96", "NO_COLOR": "1", "TERM": "dumb"}),
    ):
        main([*command, "--help"])
    return nodes.literal_block(printed.getvalue(), printed.getvalue(), language="text")


ERRATA = Path(__file__).parents[2] / "proofs_tests" / "errata"


class Errata(Directive):
    """The docstring of each test of a misprint, the CEL family first, by number."""

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the page."""
        page = nodes.definition_list()
        for path in sorted(ERRATA.glob("test_*.py"), key=_number):
            docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
            name, _, text = docstring.partition(": ")
            parts = text.replace("``", "").split("\n\n")
            paragraphs = [nodes.paragraph("", part) for part in parts]
            where = nodes.paragraph("", "", nodes.literal("", f"proofs_tests/errata/{path.name}"))
            page += nodes.definition_list_item(
                "", nodes.term("", name), nodes.definition("", *paragraphs, where)
            )
        return [page]


def _number(path: Path) -> tuple[bool, int, str]:
    digits = re.search(r"e(\d+)", path.stem)
    return "srt" in path.stem, int(digits[1]) if digits else 0, path.stem


def _literal_blocks(
    _app: Any, _what: str, _name: str, _value: Any, _options: Any, lines: list[str]
) -> None:
    """Keep the lines of code below a colon, and of tables of options."""
    text = re.sub(r":\n\n(?= {4})", "::\n\n", "\n".join(lines))
    blocks = text.split("\n\n")
    for at, block in enumerate(blocks):
        if re.match(r"``.+?``\s{2,}", block):
            indented = "\n".join(f"    {line}" for line in block.replace("``", "").splitlines())
            blocks[at] = f"::\n\n{indented}"
    lines[:] = "\n\n".join(blocks).splitlines()


_OPTIONS = {each.__name__: each for each in (Aggregates, HowToRead, Options, StreamOptions)}
_UNIONS = {"cerlab.Formula": cerlab.Formula, "cerlab.Sremo": cerlab.Sremo}


def _read_signature(
    _app: Any, _what: str, _name: str, _value: Any, _options: Any, signature: str | None, gives: Any
) -> tuple[str | None, Any]:
    """Return a signature with names of keywords and unions, and with defaults as in source code."""
    text = re.sub(r"<(\w+\.\w+): [^<>]*>", r"\1", (signature or "").replace("<factory>", "{}"))
    for name, union in _UNIONS.items():
        written = stringify_annotation(union, "smart")
        text = text.replace(written, f"~{name}")
        gives = gives and gives.replace(written, f"~{name}")
    text = re.sub(r"\*\*\w+: [~\w.]*Unpack\[[~\w.]*?(\w+)\]", _keywords(text), text)
    return (text or signature, gives)


def _keywords(signature: str) -> Callable[[re.Match[str]], str]:
    def listed(found: re.Match[str]) -> str:
        hints = get_type_hints(_OPTIONS[found[1]])
        names = [f"{name}: {stringify_annotation(t, 'smart')} = ..." for name, t in hints.items()]
        return ", ".join(names if "*, " in signature else ["*", *names])

    return listed


def _write_errors(app: Any, _config: Any) -> None:
    page = Path(app.srcdir) / "reference" / "errors.md"
    text = catalogue.markdown()
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def _drop_states_of_widgets(_app: Any, env: Any) -> None:
    """Leave out the state of a notebook's widgets: no page has a program that reads it."""
    for page in env.nb_metadata.values():
        page.get("js_files", {}).pop("ipywidgets_state", None)


def setup(app: Any) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("commands", Commands)
    app.add_directive("errata", Errata)
    app.connect("config-inited", _write_errors)
    app.connect("env-updated", _drop_states_of_widgets)
    app.connect("autodoc-process-docstring", _literal_blocks)
    app.connect("autodoc-process-signature", _read_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
