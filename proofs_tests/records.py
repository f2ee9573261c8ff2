"""Records of services that passed, so that `.ci/run` can leave them out while nothing changed.

    python -m proofs_tests.records coq

exits with 0 if the record of a part is valid, and with 1 if its tests have to run. A run of all
services writes the records of the parts that passed. `.ci/nightly` deletes the file first.

A record is valid for one key: a digest of the part's folder, of every module that its tests reach
by imports, of the data files beside these modules, and of the versions of Python and of the
dependencies. It also names the version of the tool; a machine without the tool accepts that.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = ROOT / "proofs_tests" / "records.json"

PARTS: Mapping[str, tuple[str, ...]] = {"coq": ("coqc", "--version"), "spark": ()}
"""The command that prints the version of each part's tool; the version of PySpark is in the key."""

FOLDERS = {"coq": "proofs_tests/mechanised/", "spark": "proofs_tests/spark/"}
"""The folder of each part, as test ids begin."""

IGNORED = (".pyc", ".vo", ".vok", ".vos", ".glob", ".aux", ".gitignore")
"""Suffixes of files that a run leaves behind."""


def valid_parts() -> frozenset[str]:
    """Return the parts whose record fits what is here."""
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    return frozenset(
        part
        for part in PARTS
        if part in kept
        and tool_of(part) in (None, kept[part]["tool"])
        and kept[part]["key"] == key_of(part)
    )


def write(parts: Iterable[str]) -> None:
    """Write the records of parts whose tests have passed."""
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    kept |= {part: {"key": key_of(part), "tool": tool_of(part)} for part in parts}
    FILE.write_text(json.dumps(dict(sorted(kept.items())), indent=2) + "\n")


def tool_of(part: str) -> str | None:
    """Return the version that a part's tool prints, None if the tool is not installed."""
    command = PARTS[part]
    if not command:
        return ""
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]


def key_of(part: str) -> str:
    """Return the digest of everything that the outcome of a part's tests depends on."""
    digest = sha256()
    for path in files_of(part):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(repr((sys.version_info[:2], versions())).encode())
    return digest.hexdigest()


def files_of(part: str) -> list[Path]:
    """Return the part's folder, the modules that it reaches by imports, and the data beside them.

    An import counts wherever it stands. The package of a module counts too, since Python runs its
    ``__init__``; that of `cerlab` loads its names when they are used, so only those that import
    `cerlab` itself reach them.
    """
    folder = ROOT / FOLDERS[part]
    whole = {p for p in folder.rglob("*") if p.is_file() and not p.name.endswith(IGNORED)}
    waiting = {path for path in whole if path.suffix == ".py"} | {ROOT / "conftest.py"}
    reached: set[Path] = set()
    while waiting:
        path = waiting.pop()
        reached.add(path)
        for name in _imports(path.read_text(encoding="utf-8")):
            parents = [name[: place.start()] for place in re.finditer(r"\.", name)]
            waiting |= {_path(each) for each in (name, *parents) if each != "cerlab"} - reached
            reached |= {_path(name.partition(".")[0])} - waiting
    data = {
        path
        for place in {path.parent for path in reached}
        for path in place.iterdir()
        if path.suffix in (".lark", ".txt", ".js")
    }
    return sorted((reached | data | whole) - {FILE})


_IMPORT = re.compile(
    r"^ *(?:from ((?:cerlab|proofs_tests)[\w.]*) import (\([^)]*\)|[^(\n]*)"
    r"|import ((?:cerlab|proofs_tests)[\w.]*))",
    re.MULTILINE,
)


def _imports(text: str) -> Iterator[str]:
    """Yield the modules of this project that a module imports."""
    for package, names, module in _IMPORT.findall(text):
        yield from (each for each in (package or module,) if _path(each).exists())
        inner = (f"{package}.{name}" for name in re.findall(r"\w+", names))
        yield from (each for each in inner if _path(each).exists())


def _path(name: str) -> Path:
    path = ROOT.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def versions() -> list[tuple[str, str]]:
    """Return the installed version of each dependency that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [each for extra in project["optional-dependencies"].values() for each in extra]
    names = {re.split(r"[\[<>=!~ ]", each)[0] for each in (*project["dependencies"], *extras)}
    found = []
    for name in sorted(names - {project["name"]}):
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            found.append((name, ""))
    return found


if __name__ == "__main__":
    sys.exit(sys.argv[1] not in valid_parts())
