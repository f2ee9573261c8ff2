"""Examples of ``--help`` run unchanged, and shells complete the words of a command."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cerlab.cli import COMMANDS, main, parser_of
from cerlab.cli.command import EXAMPLES

EVENTS = "type,name,price,t\nBUY,INTC,27,1\nSELL,INTC,28,3\nBUY,AMAT,5,4\n"
LINES = [
    line
    for text in EXAMPLES.values()
    for line in text.replace("\\\n", " ").strip().split("\n")
    if not any(word in line for word in ("tail ", "eval ", "zsh", " lab ", "demo"))
]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples(name: str) -> None:
    (command,) = parser_of([name])._subparsers._group_actions  # type: ignore[union-attr]  # there is one
    assert f"  cerlab {name}" in command.choices[name].epilog  # type: ignore[index]  # a mapping


@pytest.mark.parametrize("line", LINES)
def test_examples_run_as_they_stand(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "trades.csv").write_text(EVENTS)
    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(line)
    assert program == "cerlab"
    assert main(arguments) == ("price < 2" in line)
    out, err = capfd.readouterr()
    assert not err
    assert out or list(tmp_path.glob("*.svg")) or list(tmp_path.glob("*.parquet"))


def completions(script: str, *words: str) -> list[str]:
    """Return the completions that bash offers for the last word."""
    line = shlex.join(words)
    program = f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
    program += 'COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}; _shtab_cerlab; '
    program += 'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=False)
    return done.stdout.split()


def test_bash_completes_commands_options_choices_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "complete.bash"
    script.write_text(capsys.readouterr().out)
    (tmp_path / "trades.csv").touch()
    monkeypatch.chdir(tmp_path)
    assert set(completions(str(script), "cerlab", "")) >= {*COMMANDS}
    assert completions(str(script), "cerlab", "equ") == ["equivalent"]
    assert completions(str(script), "cerlab", "run", "--colu") == ["--columns"]
    assert set(completions(str(script), "cerlab", "run", "--format", "")) == {
        *("ndjson", "csv", "table", "parquet")
    }
    assert completions(str(script), "cerlab", "run", "tra") == ["trades.csv"]


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_have_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert all(name in capsys.readouterr().out for name in ["cerlab"])


def test_what_completes_is_not_loaded_by_other_commands() -> None:
    code = "import sys; from cerlab.cli import main; main(['fmt', 'A']);"
    code += "sys.exit('shtab' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
