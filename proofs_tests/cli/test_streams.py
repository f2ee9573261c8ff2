"""Standard streams that are closed or full, and terminals that get the text of others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
import warnings
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

import cerlab
from cerlab.cli import COMMANDS, main
from proofs_tests.command import Cli

ANSWER = '{"start": 0, "end": 1, "positions": [0, 1]}\n'
RUN, WRONG = "run 'A ; B' e.csv", "contained 'A ;' B"
OUTPUT = "CER0807: {}: standard output\n"
CLOSED, FULL = OUTPUT.format("Bad file descriptor"), OUTPUT.format("No space left on device")

STREAMS = {
    f"{RUN} 2>&-": (0, ANSWER, ""),
    f"{RUN} <&- >&- 2>&- -o out.ndjson": (0, "", ""),
    f"{RUN} >&-": (2, "", CLOSED),
    f"{RUN} >/dev/full": (2, "", FULL),
    f"{RUN} --format parquet -o /dev/stdout >&-": (
        2,
        "",
        CLOSED.replace("standard output", "/dev/stdout"),
    ),
    "run 'A ; B' - <&-": (2, "", CLOSED.replace("output", "input")),
    f"{WRONG} 2>/dev/full": (2, "", ""),
    "--version >/dev/full": (2, "", FULL),
    "run 2>/dev/full": (2, "", ""),
}
"""Commands with the exit status, the output and the messages that a shell sees of them."""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_streams_that_are_closed_or_full_change_no_status(tmp_path: Path) -> None:
    """What nobody can receive is lost: answers are an error that is named, messages are none.

    A closed stream has its number all the same, so no file gets it and is written into.
    """
    (tmp_path / "e.csv").write_text("type\nA\nB\n")
    environment = {name: v for name, v in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment["PYTHONPATH"] = str(Path(cerlab.__file__).parents[1])
    pipe = subprocess.PIPE
    running = {
        words: subprocess.Popen(
            ["sh", "-c", f'exec "{sys.executable}" -m cerlab {words}'],
            stdout=pipe,
            stderr=pipe,
            cwd=tmp_path,
            env=environment,
            text=True,
        )
        for words in STREAMS
    }
    seen = {}
    for words, process in running.items():
        out, err = process.communicate()
        seen[words] = process.returncode, out, err
    assert seen == STREAMS
    assert (tmp_path / "out.ndjson").read_text() == ANSWER


class Terminal(StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


HOSTILE = "x\r\x1b]0;t\x07\x1b[2J\x9b3m\u202ey\u2066"
"""Characters that go back to the margin, set a title, ring, clear, colour and turn text round."""

NAME = f"{HOSTILE}.ndjson"
SHOWS = {
    "run table": ["run", "A", "e.ndjson", "--format", "table", "--columns", f"A.`{HOSTILE}`"],
    "run long table": ["run", "A", "long.ndjson", "--format", "table", "--columns", "A.v"],
    "run csv": ["run", "A", "e.ndjson", "--format", "csv", "--columns", "A.v"],
    "run events": ["run", "A", "e.ndjson", "--events"],
    "run no file": ["run", "A", HOSTILE],
    "run bad row": ["run", "A", f"bad{NAME}"],
    "run no column": ["run", "A", "e.ndjson", "--columns", f"A.`no{HOSTILE}`"],
    "run no query": ["run", f"{HOSTILE}.ceql", "e.ndjson"],
    "run caret": ["run", f"A ; `{HOSTILE}` ;", "e.ndjson"],
    "run warning": ["run", f"`{HOSTILE}`", "e.ndjson"],
    "run quarantine": ["run", "A", f"bad{NAME}", "--quarantine", f"q{NAME}"],
    "check": ["check", f"`{HOSTILE}`"],
    "show": ["show", f"`{HOSTILE}`"],
    "fmt": ["fmt", f"`{HOSTILE}`"],
    "equivalent": ["equivalent", f"`{HOSTILE}` OR B", "B"],
    "contained": ["contained", f"`{HOSTILE}`", "B"],
    "why": ["why", f"A FILTER A[v = '{HOSTILE}']", "e.ndjson", "--positions", "0"],
    "why not": ["why", f"A FILTER A[v = '{HOSTILE}']", "long.ndjson", "--positions", "1"],
    "why json": ["why", f"A AS `{HOSTILE}`", "e.ndjson", "--positions", "0", "--format", "json"],
    "why none": ["why", f"A ; `{HOSTILE}`", "e.ndjson"],
    "fuzz": ["fuzz", f"{sys.executable} engine.py {{query}} {{events}}", "--cases", "1"],
    "conformance": ["conformance", "--only", HOSTILE],
    "trial": ["trial", "--engine", HOSTILE],
    "sql": [
        "sql",
        f"SELECT '{HOSTILE}' AS v, n FROM e MATCH_RECOGNIZE (MEASURES 1 AS n "
        "PATTERN (A) DEFINE A AS TRUE)",
        "e.ndjson",
    ],
    "spark": ["spark", "A", "--input", "e.ndjson", "--output", f"full{HOSTILE}", "--position", "v"],
    "convert": ["convert", "e.ndjson", "-", "--to", "csv"],
    "explain": ["explain", HOSTILE],
    "lab": ["lab", "--build", f"full{HOSTILE}"],
    "completion": ["completion", HOSTILE],
    "demo": ["demo", HOSTILE],
    "no command": [HOSTILE],
}
"""Commands that show a text of others: values, names, files, queries, words of the command line."""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names of files")
@pytest.mark.filterwarnings("ignore")
def test_terminals_get_no_control_characters_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = {"type": "A", "v": HOSTILE, HOSTILE: 1}
    (tmp_path / "e.ndjson").write_text(json.dumps(event))
    (tmp_path / "long.ndjson").write_text(f"{json.dumps(event)}\n" * 1001)
    (tmp_path / f"bad{NAME}").write_text('{"type": "A"}\n{"v": 1}\n')
    (tmp_path / f"full{HOSTILE}").mkdir()
    (tmp_path / f"full{HOSTILE}" / "file").touch()
    (tmp_path / "engine.py").write_text(f"import sys\nsys.exit({HOSTILE!r})")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "dumb")  # no colours of ours
    assert {words.split()[0] for words in SHOWS} >= COMMANDS.keys()
    seen = {}
    for name, command in SHOWS.items():
        with monkeypatch.context() as patch:
            out, err = Terminal(), Terminal()
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            status = main(command)
        text = out.getvalue() + err.getvalue()
        raw = {c for c in text if unicodedata.category(c) in ("Cc", "Cf")} - {"\n"}
        shown = any(escape in text for escape in ("\\u001b", "\\x1b", "\ufffd"))
        if raw or not shown or status == 70:
            seen[name] = status, text
    assert seen == {}


def test_redirected_output_is_as_it_was(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "e.ndjson").write_text(json.dumps({"type": "A", "v": HOSTILE}))
    monkeypatch.chdir(tmp_path)
    assert HOSTILE in cli("run", "A", "e.ndjson", "--format", "csv", "--columns", "A.v").out


def texts() -> Iterator[str]:
    """The texts of errors and warnings of Python, which prints them itself."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        cerlab.evaluate(f"`{HOSTILE}`", [{"type": "A"}])
    yield from (str(each.message) for each in caught)
    for query in (f"A ; `{HOSTILE}` ;", f"A FILTER A[f('{HOSTILE}') = 1]"):
        with pytest.raises(cerlab.CerlabError) as error:
            cerlab.evaluate(query, [{"type": "A"}])
        yield str(error.value)
    with pytest.raises(cerlab.BadData) as bad:
        cerlab.evaluate("A", [{"type": "A", HOSTILE: [1]}])
    yield str(bad.value)


def test_errors_and_warnings_have_no_control_characters() -> None:
    several = list(texts())
    assert len(several) == 5
    for text in several:
        assert not {c for c in text if unicodedata.category(c) in ("Cc", "Cf")} - {"\n"}, text
    line, caret = several[2].splitlines()[1:3]
    assert line[caret.index("^") - 1 :] == ";"  # after the last character: one more is expected
