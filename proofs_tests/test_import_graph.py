"""No module imports itself in a circle, and none is reached but by its import."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import cerlab
from proofs_tests.import_graph import graph_of, modules

ROOT = Path(cerlab.__file__).parent


def test_no_circle_of_imports() -> None:
    TopologicalSorter(
        graph_of(modules(ROOT))
    ).prepare()  # raises CycleError, which names the circle


def test_a_circle_is_seen_inside_functions() -> None:
    trees = {
        "p": ast.parse(""),
        "p.low": ast.parse("def f():\n    from p.high import g\n    return g"),
        "p.high": ast.parse("from p import low"),
        "p.top": ast.parse("if TYPE_CHECKING:\n    import p.high"),
    }
    with pytest.raises(CycleError) as caught:
        TopologicalSorter(graph_of(trees)).prepare()
    assert set(caught.value.args[1]) == {"p.low", "p.high"}
    assert graph_of(trees)["p.top"] == {"p.high"}


def test_modules_are_imported_by_name_only_at_the_front_door() -> None:
    """A module named in a string would be an import that neither test nor contract sees."""
    calling = {
        name
        for name, tree in modules(ROOT).items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id in ("import_module", "__import__")
    }
    assert calling == {
        "cerlab",
        "cerlab.cli.arguments",
    }  # public names and commands, loaded when used


def _listed(tree: ast.Module) -> Sequence[str]:
    """Return the names of a chapter's ``__all__``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = (item.value for item in ast.walk(node.value) if isinstance(item, ast.Constant))
            return [name for name in names if isinstance(name, str)]
    return []


def test_a_chapter_has_the_names_that_it_lists() -> None:
    """A chapter lists names, and modules whose names are its interface."""
    trees = modules(ROOT)
    chapters = {name: _listed(tree) for name, tree in trees.items()}
    missing = [
        f"{chapter}.{name}"
        for chapter, names in chapters.items()
        for name in names
        if f"{chapter}.{name}" not in trees and not hasattr(import_module(chapter), name)
    ]
    assert missing == []
    assert "syntax" in chapters["cerlab.predicates"]


def test_a_stream_is_read_where_nothing_else_was_imported(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("type,v\nA,1\n")
    program = (
        "import cerlab, sys\n"
        "assert not any(m.startswith('cerlab.') and m != 'cerlab.display' for m in sys.modules)\n"
        f"stream = cerlab.Stream.read({str(tmp_path / 'e.csv')!r})\n"
        "assert isinstance(stream, cerlab.Stream)\n"
        "assert isinstance(stream[:1], cerlab.Stream)\n"
        "assert callable(cerlab.evaluate)\n"
        "import cerlab.evaluate, cerlab.why.none\n"
        "assert callable(cerlab.evaluate)\n"
        "assert cerlab.why('A', stream, [0]).holds\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_names_of_types_are_those_of_the_run() -> None:
    """Types that mypy is told of the public names are the types that `__getattr__` gives."""
    type_checking, _ = (
        node
        for node in ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.If)
    )
    names = {
        alias.name: node.module
        for node in type_checking.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert names == cerlab._HOME
