"""The imports of the project's modules, read from their source."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path


def module_name(path: Path, root: Path) -> str:
    """Return the name of a module; a package has the name of its folder."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules(root: Path) -> dict[str, ast.Module]:
    """Return all modules of a package, by name."""
    return {
        module_name(path, root.parent): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.py"))
    }


def imports_of(tree: ast.Module, module_names: Mapping[str, object]) -> Iterator[str]:
    """Yield the imports of a module, also those in functions and under ``TYPE_CHECKING``."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names if alias.name in module_names)
            case ast.ImportFrom(str(module), names, 0):
                for alias in names:
                    inner = f"{module}.{alias.name}"
                    if inner in module_names or module in module_names:
                        yield inner if inner in module_names else module
            case ast.ImportFrom():
                raise AssertionError("imports are absolute")


def graph_of(trees: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """Return the imports by module. A package's ``__init__`` counts as one module."""
    return {name: set(imports_of(tree, trees)) - {name} for name, tree in trees.items()}


def reached(start: Iterable[str], paths: Mapping[str, Path]) -> set[str]:
    """Return the modules that some modules import, directly or not, with all their packages."""
    found, open_names = set[str](), set(start)
    while open_names:
        name = open_names.pop()
        package = name.rpartition(".")[0]  # or the module in which this is a name
        if package and package not in found:
            open_names.add(package)
        if name in paths:
            found.add(name)
            open_names |= _names_in(paths[name].read_text(encoding="utf-8")) - found
    return found


class _AnyName(dict[str, None]):
    """Contains every name."""

    def __contains__(self, _: object) -> bool:
        return True


@cache
def _names_in(source: str) -> frozenset[str]:
    return frozenset(imports_of(ast.parse(source), _AnyName()))
