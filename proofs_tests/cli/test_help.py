"""Examples of ``--help`` run unchanged, and shells complete the words of a command."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cerlab.cli import COMMANDS, main, parser_of
from cerlab.cli.arguments import ARGUMENTS
from cerlab.compile.pattern import LANGUAGES
from proofs_tests.command import Cli

EVENTS = "type,name,price,t\nBUY,INTC,27,1\nSELL,INTC,28,3\nBUY,AMAT,5,4\n"
LINES = [
    line
    for command in COMMANDS.values()
    if isinstance(command.examples, str)
    for line in command.examples.replace("\\\n", " ").strip().split("\n")
    if not any(word in line for word in ("tail ", "eval ", "zsh", "fish", " lab ", "demo"))
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
    assert out or len([*tmp_path.iterdir()]) > 1


@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_argument_is_of_some_command(name: str) -> None:
    assert any(name in command.names for command in COMMANDS.values())


def completions(shell: str, folder: Path, line: str) -> set[str]:
    """Return what cerlab tells a shell of the last word of a line."""
    answer = folder / "answer"
    shell_says = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": ""}
    program = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": shell, "_ARGCOMPLETE_IFS": "\n"}
    told = {"_ARGCOMPLETE_STDOUT_FILENAME": str(answer), "_ARGCOMPLETE_SUPPRESS_SPACE": "1"}
    subprocess.run(
        [sys.executable, "-m", "cerlab"],
        env={**os.environ, **shell_says, **program, **told},
        cwd=folder,
        check=True,
    )
    words = answer.read_text().split("\n")
    return {word.replace(":", "\t").partition("\t")[0].strip() for word in words}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_options_values_and_files(shell: str, tmp_path: Path) -> None:
    (tmp_path / "trades.csv").touch()
    assert completions(shell, tmp_path, "cerlab ") >= {*COMMANDS}
    assert completions(shell, tmp_path, "cerlab equ") == {"equivalent"}
    assert completions(shell, tmp_path, "cerlab run --colu") == {"--columns"}
    formats = {"ndjson", "csv", "table", "parquet"}
    assert completions(shell, tmp_path, "cerlab run A --format ") == formats
    if shell != "fish":  # which completes files by itself
        assert completions(shell, tmp_path, "cerlab run tra") == {"trades.csv"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_what_the_shell_reads(shell: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    assert main(["completion", shell, "-o", str(script)]) == 0
    assert "cerlab" in script.read_text()
    if (program := shutil.which(shell)) is not None:
        subprocess.run([program, "-n", str(script)], check=True)


def test_what_completes_is_not_loaded_by_other_commands() -> None:
    code = "import sys; from cerlab.cli import main; main(['fmt', 'A']);"
    code += "sys.exit('argcomplete' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("words", [["run", "A"], ["rum"], ["run", "A", "x", "--colums", "a"]])
def test_a_usage_error_is_two_lines(words: list[str], cli: Cli) -> None:
    out, err = cli(*words, status=2)
    message, hint = err.splitlines()
    assert "error: " in message
    assert hint.startswith("hint: ")
    assert not out


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        (["check", "A"], "text"),
        (["equivalent", "A ; B", "A ; B"], "yes"),
        (["fmt", "select * where A"], "SELECT *"),
        (["explain", "CER0802"], "CER0802"),
        (["why", "A", "e.csv"], "no answer"),
    ],
)
def test_what_is_printed_goes_to_the_file_of_o(
    words: list[str],
    begins: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cli: Cli,
) -> None:
    (tmp_path / "e.csv").write_text("type\nB\n")
    monkeypatch.chdir(tmp_path)
    status = main(words)
    printed = capsys.readouterr().out
    assert not cli(*words, "-o", "out", status=status).out
    assert (tmp_path / "out").read_text() == printed
    assert printed.startswith(begins), printed


def _with_output() -> list[str]:
    """The commands with ``-o``."""
    return [name for name, command in COMMANDS.items() if {"output", "folder"} & {*command.names}]


_WORDS: dict[str, list[str]] = {
    "run": ["BUY AS b", "e.csv"],
    "check": ["A"],
    "show": ["A"],
    "equivalent": ["A", "A"],
    "contained": ["A", "A"],
    "why": ["A", "e.csv"],
    "sql": ["SELECT 1", "e.csv"],
    "explain": ["CER0802"],
    "fmt": ["A"],
    "completion": ["bash"],
}


@pytest.mark.parametrize("name", _with_output())
def test_a_dash_is_standard_output_in_every_command_with_o(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cli: Cli,
) -> None:
    (tmp_path / "e.csv").write_text(EVENTS)
    monkeypatch.chdir(tmp_path)
    if name == "spark":  # it writes folders
        assert "expected a folder" in cli("spark", "A", "--input", "e.csv", "-o", "-", status=2).err
    else:
        status = main([name, *_WORDS[name]])
        printed = capsys.readouterr().out
        assert cli(name, *_WORDS[name], "-o", "-", status=status).out == printed
        assert printed
    assert [path.name for path in tmp_path.iterdir()] == ["e.csv"]


@pytest.mark.parametrize(
    ("out", "begins"),
    [("a.csv", b"start,end"), ("a.parquet", b"PAR1"), ("a.ndjson", b"{"), ("a.txt", b"{")],
)
def test_the_name_of_out_tells_the_format(
    out: str, begins: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "e.csv").write_text(EVENTS)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "BUY AS b ; SELL AS s", "e.csv", "-o", out]) == 0
    assert (tmp_path / out).read_bytes().startswith(begins)
    assert main(["run", "BUY AS b", "e.csv", "-o", out, "--format", "ndjson"]) == 0
    assert (tmp_path / out).read_bytes().startswith(b"{")


@pytest.mark.parametrize(
    ("out", "begins"),
    [
        *(("a", "CEA: "), ("a.txt", "CEA: "), ("a.dot", "digraph "), ("a.gv", "digraph ")),
        *(("a.svg", "<svg"), ("a.png", "\x89PNG"), ("a.pdf", "%PDF"), ("a.PDF", "%PDF")),
        *(("a.tex", "% \\usepackage{tikz}"), ("a.tikz", "% \\usepackage{tikz}")),
        *(("a.json", "{"), ("a.mata", "@NFA-bits")),
    ],
)
def test_every_format_of_a_picture_has_a_suffix(
    out: str, begins: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["show", "A", "--what", "cea", "-o", out]) == 0
    assert (tmp_path / out).read_bytes().startswith(begins.encode("latin-1"))


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (["show", "A"], ".txt, .text, .dot, .gv, .svg, .png, .pdf, .tex, .tikz, .json, .mata"),
        (["run", "A", "e.csv"], ".txt, .ndjson, .jsonl, .json, .csv, .tsv, .table, .parquet, .pq"),
        (["sql", "SELECT 1", "e.csv"], ".txt, .ndjson, .jsonl, .json, .csv"),
        (["why", "A", "e.csv"], ".txt, .text, .json"),
        (["convert", "e.csv"], ".csv, .tsv, .ndjson"),
    ],
)
@pytest.mark.parametrize("name", ["a.xlsx", "a.csv.gz", "a.jpeg"])
def test_an_unknown_suffix_is_refused_with_a_list(
    words: list[str],
    known: str,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
) -> None:
    (tmp_path / "e.csv").write_text(EVENTS)
    monkeypatch.chdir(tmp_path)
    error = cli(*words, *(["-o"] if words[0] != "convert" else []), name, status=2).err
    message, hint = error.splitlines()
    assert message.startswith(f"CER0867: expected an output name that ends in {known}")
    assert message.endswith(f"got '{name}'")
    assert hint.startswith("hint: or add --format ")
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    "words",
    [
        *(["check", "q.cel"], ["fmt", "q.cel"], ["show", "q.cel"], ["why", "q.cel", "e.csv"]),
        *(["run", "A", "q.cel", "--type", "A"], ["convert", "q.cel", "q.cel", "--format", "csv"]),
        *(["equivalent", "q.cel", "A"], ["equivalent", "A", "q.cel"], ["contained", "A", "q.cel"]),
        *(["sql", "SELECT * FROM q", "q.cel"], ["sql", "SELECT * FROM t", "t=q.cel"]),
        ["check", "A", "--schema", "q.cel"],
    ],
    ids=" ".join,
)
def test_no_command_writes_over_a_file_that_it_reads(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    (tmp_path / "q.cel").write_text("A ; B")
    (tmp_path / "e.csv").write_text(EVENTS)
    monkeypatch.chdir(tmp_path)
    out = [] if words[0] == "convert" else ["-o", "q.cel"]
    assert "CER0825" in cli(*words, *out, status=2).err
    assert (tmp_path / "q.cel").read_text() == "A ; B"


def test_the_languages_are_those_of_texts() -> None:
    languages = ARGUMENTS["language"].parameters["choices"]
    assert sorted(languages) == sorted((*LANGUAGES, "rows"))
