"""Runs what entries of the catalogue show: Python statements and commands."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import cerlab
from cerlab.cli import main
from cerlab.evaluate.missing_names import CODES


def code_of_lines(lines: Sequence[str], names: dict[str, Any]) -> str | None:
    """The code that the last of these lines raises or warns of, None if no line does."""
    with contextlib.ExitStack() as stack:
        steps = list(statements(lines))
        for step in steps:
            if step.startswith(("@ ", "- ")):
                stack.enter_context(circumstance(step))
                continue
            code = code_of(output_of(step, names))
            if code is not None and not (of_answers(code) and step != steps[-1]):
                assert step == steps[-1], f"{step} raises {code} already"
                return code
    return None


def statements(lines: Sequence[str]) -> Iterator[str]:
    """Yield Python statements as source, and each other line unchanged."""
    source: list[str] = []
    for line in (*lines, ""):
        if source and not line.startswith("... "):
            yield "\n".join(source)
            source = []
        if line.startswith((">>> ", "... ")):
            source.append(line[4:])
        elif line:
            yield line


def circumstance(line: str) -> Any:
    """``@ cerlab.module.NAME = 3`` and ``- package``."""
    if line.startswith("- "):
        return mock.patch.dict(sys.modules, {line[2:]: None})
    name, _, value = line[2:].partition(" = ")
    return mock.patch(name, eval(value))


def output_of(step: str, names: dict[str, Any]) -> str:
    """All that a statement or a command says: its error and its warnings, nothing else."""
    return _command(step[2:]) if step.startswith("$ ") else _python(step, names)


def code_of(output: str) -> str | None:
    """The code of the first message."""
    match = re.search(r"^(?:warning: )?(CER\d{4}):", output, re.MULTILINE)
    return match[1] if match else None


def _python(source: str, names: dict[str, Any]) -> str:
    """Expressions are shown, as a prompt does."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(source, "<catalogue>", "single"), names)
        except cerlab.CerlabError as error:
            return str(error)
    ours = [each for each in caught if issubclass(each.category, cerlab.CerlabWarning)]
    return "\n".join(str(each.message) for each in ours)


def of_answers(code: str | None) -> bool:
    """Whether a code comes as a warning beside answers; many a fix gives it as well."""
    return code in {*CODES.values(), "CER0910"}


def _command(line: str) -> str:
    """``printf TEXT`` before a command is its standard input; with ``>`` it writes a file."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|>")
    lexer.whitespace_split, lexer.commenters = True, ""
    words = list(lexer)
    text = ""
    if words[0] == "printf":
        text = words[1].encode().decode("unicode_escape")
        if words[2] == ">":
            Path(words[3]).write_text(text)
            return ""
        words = words[3:]
    assert words[0] == "cerlab", line
    stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
    errors = io.StringIO()
    with (
        mock.patch.object(sys, "stdin", stdin),
        contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())),
        contextlib.redirect_stderr(errors),
    ):
        status = main(words[1:])
    assert errors.getvalue() or status in (0, 1, 3)
    return errors.getvalue()


def fresh_names() -> dict[str, Any]:
    """Return the names that an example may use without an import."""
    return {"cerlab": cerlab, "Path": Path}


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """With this as the current folder."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
