"""Every error that cerlab raises has a stable code and says what to try."""

from __future__ import annotations

import ast
import contextlib
import re
from pathlib import Path
from typing import Any

import pytest

import cerlab
from cerlab.catalogue import entries
from cerlab.evaluate import EVALUATORS
from proofs_tests.command import Cli

ERRORS = {
    name
    for name in cerlab.__all__
    if isinstance(each := getattr(cerlab, name), type) and issubclass(each, cerlab.CerlabError)
} - {"QuerySyntaxError"}  # it has what was expected there
PASSED_ON = {"cli/spark.py", "spark/inputs.py", "engine/reorder.py"}
"""Files that raise a given error again in another place, without a literal code."""


def errors_of(path: Path) -> list[ast.Call]:
    """The errors that a module makes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [c for c in calls if isinstance(c.func, ast.Name) and c.func.id in ERRORS]


def test_every_error_has_a_code_and_a_hint() -> None:
    root = Path(cerlab.__file__).parent
    without, count = [], 0
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        for call in errors_of(path):
            count += 1
            code = call.args[0] if call.args else None
            literal = isinstance(code, ast.Constant)
            if not literal and name in PASSED_ON:
                continue
            if isinstance(code, ast.Constant):
                assert re.fullmatch(r"CER\d{4}", str(code.value)), (name, call.lineno)
            if not any(keyword.arg == "hint" for keyword in call.keywords):
                without.append(f"{name}:{call.lineno}")
    assert count > 200
    assert not without, without


def test_every_code_has_an_entry_in_the_catalogue_and_no_entry_is_left_over() -> None:
    """A new code gets its entry in ``cerlab/catalogue``: cause, smallest example, fix."""
    root = Path(cerlab.__file__).parent
    texts = (path.read_text(encoding="utf-8") for path in root.rglob("*.py"))
    codes = {code for text in texts for code in re.findall(r"CER\d{4}", text)}
    assert codes == set(entries())


KINDS = (
    "A ; B",
    "SELECT * WHERE A : B PARTITION BY [k]",
    "A AS a ; B AS b FILTER a.v < b.v",
    "MAX(A+) ; B",
    "MAX(A AS a ; B AS b FILTER a.v < b.v) ; C",
    "SELECT * WHERE A ; B CONSUME BY ANY",
    "<type = 'A'>^ . <TRUE>* . <type = 'B'>^",
)


@pytest.mark.parametrize("text", KINDS)
@pytest.mark.parametrize("ask", [cerlab.evaluate, cerlab.valuations])
def test_an_evaluator_that_a_limit_names_takes_the_query(text: str, ask: Any) -> None:
    """Tried, it does not refuse what it is said to take."""
    events = [{"type": t, "v": n} for n, t in enumerate("AB" * 150)]
    for evaluator in (*EVALUATORS, "auto"):
        try:
            ask(text, events, evaluator=evaluator)
        except cerlab.ResourceLimit as error:
            for named in re.findall(r'evaluator="(\w+)"', error.hint):
                assert named != evaluator
                with contextlib.suppress(cerlab.ResourceLimit):
                    ask(text, events[:20], evaluator=named)
        except cerlab.Unsupported:
            pass


def test_no_text_names_a_keyword_and_an_option_together() -> None:
    """A hint has the form of the door in use: see `cerlab.errors.by_door`."""
    both = re.compile(r"on the command line[ :]+--|--[a-z-]+[^;]*\(\w+=|\(\w+=[^)]*--[a-z]")
    found = [
        (path.name, node.value)
        for path in sorted(Path(cerlab.__file__).parent.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if len(node.value) < 200 and both.search(node.value)
    ]
    found += [
        (path.name, node.value)
        for path in sorted(Path(cerlab.__file__).parent.rglob("*.py"))
        if path.parent.name != "cli"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.search(r"\(--[a-z-]+( [A-Za-z]+)?\)", node.value) and "var(--" not in node.value
    ]
    assert found == []


def test_a_hint_has_the_form_of_its_door(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "e.csv"
    path.write_text("kind,t\nA,2\nB,1\n")
    said = cli("run", "A ; B", path, status=2).err
    assert "--type-column" in said
    assert "type_column=" not in said
    with pytest.raises(cerlab.CerlabError) as refused:
        cerlab.evaluate("A ; B", str(path))
    assert "type_column=" in str(refused.value)
    assert "--" not in str(refused.value)


@pytest.mark.parametrize(
    ("code", "query", "rows", "python", "option"),
    [
        ("CER0915", "A WAIT 5 [t]", "type,t\nA,1\n", {"time": "t"}, ["--time", "t"]),
        ("CER0916", "A", "type,t\nA,1\n", {"until": "end"}, ["--until", "end"]),
        ("CER0919", "A", "type,kind\nA,B\n", {"type": "kind"}, ["--type", "kind"]),
        ("CER0920", "A", "type,k\nA,9007199254740993\nA,0.5\n", {}, []),
        ("CER0921", "A", "type,t\nA,2024-01-31\nA,2024-02-30\n", {}, []),
    ],
)
def test_a_warning_has_the_form_of_its_door(
    code: str, query: str, rows: str, python: dict[str, Any], option: list[str],
    tmp_path: Path, cli: Cli
) -> None:  # fmt: skip
    path = tmp_path / "e.csv"
    path.write_text(rows)
    with pytest.warns(cerlab.CerlabWarning, match=code) as caught:
        cerlab.evaluate(query, str(path), **python)
    (text,) = (str(each.message) for each in caught if code in str(each.message))
    assert re.search(r"[a-z]+=", text)
    assert "--" not in text
    (line,) = (x for x in cli("run", query, path, *option).err.splitlines() if code in x)
    assert line.startswith(f"warning: {code}: ")
    assert "--" in line
    assert not re.search(r"[a-z]+=", line)
