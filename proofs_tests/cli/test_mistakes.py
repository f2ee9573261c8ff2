"""The mistakes of a new user and the message of each: none is silent (``mistakes.txt``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from proofs_tests.catalogue.runs import fresh_names, output_of, statements

TABLE = Path(__file__).with_name("mistakes.txt")
EVENTS = "type,name,price,t\nBUY,INTC,27,1\nSELL,INTC,28,3\nBUY,AMAT,5,4\n"


class Mistake(NamedTuple):
    """A mistake, the message that it must give, and the right command."""

    done: tuple[str, ...]
    message: str
    right: tuple[str, ...]


def mistakes() -> Iterator[Mistake]:
    text = re.sub(r"(?m)^#.*\n", "", TABLE.read_text(encoding="utf-8"))
    for block in filter(None, (each.strip() for each in text.split("\n\n"))):
        lines = block.split("\n")
        at = next(n for n, line in enumerate(lines) if line.startswith("= "))
        yield Mistake(tuple(lines[:at]), lines[at][2:], tuple(lines[at + 1 :]))


@pytest.mark.parametrize("mistake", mistakes(), ids=lambda each: each.done[-1])
def test_it_is_said(mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "e.csv").write_text(EVENTS)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = fresh_names()
    output = "\n".join(output_of(step, names) for step in statements(mistake.done))
    assert mistake.message in output
    for step in statements(mistake.right):
        assert not output_of(step, names)


def test_there_are_seventy() -> None:
    assert sum(1 for _ in mistakes()) >= 70
