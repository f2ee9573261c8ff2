"""The command line in the process of the tests."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

import pytest

from cerlab.cli import main


class Output(NamedTuple):
    """The texts that a command wrote."""

    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of the standard output."""
        return self.out.splitlines()

    @property
    def rows(self) -> list[Any]:
        """The values of the standard output, which has one in JSON on each line."""
        return [*map(json.loads, self.lines)]


class Cli:
    """The command `cerlab`, as a function of its words."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: object, status: int = 0) -> Output:
        """Run the command, and return what was written; fail if it ends with another status."""
        found = main([*map(str, words)])
        output = Output(*self._capsys.readouterr())
        assert found == status, output.err
        return output


def command(*words: object) -> tuple[int, str, str]:
    """Return the exit status, the output and the messages of a command."""
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        status = main([*map(str, words)])
    return status, out.getvalue(), errors.getvalue()
