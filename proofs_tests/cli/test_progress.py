"""A bar on a terminal, nothing elsewhere, and always the same events."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cerlab import Event
from cerlab.cli import options as progress
from cerlab.io import Source

EVENTS = [Event("A", {"n": n}) for n in range(3_000)]


def bar(total: int | None = None) -> Iterator[Event]:
    return progress.bar(EVENTS, "reading", total, lambda _: 1)


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_no_terminal_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(bar()) == EVENTS
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("patience", "has_bar"), [(-1.0, True), (3600.0, False)])
def test_a_terminal_gets_a_bar_once_it_lasts(
    patience: float, has_bar: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", patience)
    monkeypatch.setenv("TERM", "xterm")
    assert list(bar(len(EVENTS))) == EVENTS
    assert ("reading" in terminal.getvalue()) is has_bar


def test_where_a_size_is_known_the_bar_has_a_percentage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", -1.0)
    monkeypatch.setenv("TERM", "xterm")
    path = tmp_path / "e.csv"
    path.write_text("type,n\n" + "A,10\n" * 3_000)
    assert 2_700 < (progress.about(Source(path)) or 0) < 3_300
    assert progress.about(Source("-")) is None
    list(bar(6_000))
    assert "34%" in terminal.getvalue()
