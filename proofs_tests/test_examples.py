"""Every example gives its expected answers, by every evaluator, CORE's own too (CORE Fig. 1)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import cerlab
from proofs_tests.command import Cli

ROOT = Path(__file__).parent.parent / "examples"
FOLDERS = sorted({path.parent for path in ROOT.glob("*/query.*")})
FAULTS = sorted({path.parent for path in ROOT.glob("trial/*/*/query.*")})
"""Cases of `cerlab trial` on which an engine is wrong."""


def the_file(folder: Path, stem: str) -> Path:
    (path,) = folder.glob(f"{stem}.*")
    return path


def expected_lines(folder: Path) -> list[str]:
    return (folder / "expected.ndjson").read_text().splitlines()


def options(folder: Path) -> dict[str, Any]:
    path = folder / "options.json"
    return dict(json.loads(path.read_text())) if path.exists() else {}


def schema_text(folder: Path) -> str | None:
    path = folder / "schema.core"
    return path.read_text() if path.exists() else None


@pytest.mark.parametrize("evaluator", ["reference", "automaton", "tecs"])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_every_evaluator_gives_the_expected_answers(folder: Path, evaluator: str) -> None:
    text_of_schema = schema_text(folder)
    schema = cerlab.parse_schema(text_of_schema) if text_of_schema else None
    stream = cerlab.Stream.read(the_file(folder, "events"), schema=schema, **options(folder))
    text = the_file(folder, "query").read_text()
    answers = cerlab.evaluate(text, stream, evaluator=evaluator)  # type: ignore[arg-type]  # a literal
    lines = [
        json.dumps({"start": a.start, "end": a.end, "positions": list(a.positions)})
        for a in answers
    ]
    assert lines == expected_lines(folder)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_command_line_gives_them_too(folder: Path, cli: Cli) -> None:
    arguments = ["run", str(the_file(folder, "query")), str(the_file(folder, "events"))]
    if time := options(folder):
        arguments += ["--time", f"{time['time']}:{time['unit']}"]
    if schema_text(folder):
        arguments += ["--schema", str(folder / "schema.core")]
    assert sorted(cli(*arguments).lines) == sorted(expected_lines(folder))


@pytest.mark.parametrize("folder", FAULTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_cases_of_the_trial_can_be_run_again(folder: Path, cli: Cli) -> None:
    query, events = the_file(folder, "query"), the_file(folder, "events")
    rows = query.suffix == ".sql"
    options = ["--language", "rows"] if rows else ["--time", "t:s"]
    out = cli("run", query, events, *options).out
    assert sorted(out.splitlines()) == sorted(expected_lines(folder))
