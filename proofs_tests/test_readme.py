"""README: each block runs as printed and gives what it prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import cerlab
from cerlab.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
CONSOLE = [
    (command, output.rstrip("\n"))
    for language, text in BLOCK.findall(README)
    if language == "console"
    for command, output in COMMAND.findall(text)
]


def test_the_python_blocks_run_in_order_and_print_what_the_text_blocks_show(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names: dict[str, object] = {"my_engine": cerlab.evaluate}
    printed = ""
    shown = 0
    for language, text in BLOCK.findall(README):
        if language == "python":
            exec(compile(text, "README.md", "exec"), names)
            printed = capsys.readouterr().out
        elif language == "text":
            assert printed == text
            shown += 1
    assert shown == 1
    assert "test_my_engine" in names


@pytest.mark.parametrize(("command", "expected"), CONSOLE, ids=[c for c, _ in CONSOLE])
def test_a_command_prints_what_is_below_it(
    command: str,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    program, *words = shlex.split(command)
    if program == "cat":
        assert Path(words[0]).read_text(encoding="utf-8").strip() == expected.strip()
        return
    assert program == "cerlab"
    assert main(words) in (0, 1)
    assert capsys.readouterr().out.rstrip("\n") == expected.rstrip("\n")


def test_it_fits_on_three_screens() -> None:
    assert README.count("\n") < 150
