"""A record is valid until something changes that its check needs, and only a pass writes it."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from proofs_tests import records
from proofs_tests.import_graph import graph_of, modules, reached
from proofs_tests.records import CHECKS, Check, Run, digest, is_valid
from proofs_tests.suite import Profile

FILES = {
    "cerlab/__init__.py": "",
    "cerlab/engine.py": "def run():\n    from cerlab.inner import deep\n    return deep",
    "cerlab/inner/__init__.py": "",
    "cerlab/inner/deep.py": "",
    "cerlab/command.py": "",
    "cerlab/other.py": "",
    "cerlab/grammar.lark": "",
    "proofs_tests/__init__.py": "",
    "proofs_tests/dear/__init__.py": "",
    "proofs_tests/dear/test_dear.py": "from proofs_tests.streams import rows",
    "proofs_tests/dear/note.txt": "",
    "proofs_tests/streams.py": "from cerlab import (\n    engine,\n)\nrows = 7",
    "proofs_tests/test_other.py": "import cerlab.other",
}
CHECK = Check(
    ("proofs_tests/dear",),
    by_name=("cerlab.command",),
    files=("cerlab/*.lark",),
    packages=("numpy",),
    tool="prover",
)
NEEDED = {
    *("cerlab/__init__.py", "cerlab/engine.py", "cerlab/inner/__init__.py", "cerlab/inner/deep.py"),
    *("cerlab/command.py", "cerlab/grammar.lark", "proofs_tests/__init__.py"),
    *("proofs_tests/dear/__init__.py", "proofs_tests/dear/test_dear.py", "proofs_tests/streams.py"),
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project, whose only check is `CHECK`, with version 1 of its tool."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(records, "ROOT", tmp_path)
    monkeypatch.setattr(records, "RECORDS", tmp_path / "records.json")
    monkeypatch.setattr(records, "CHECKS", {"dear": CHECK})
    monkeypatch.setattr(records, "version_of_tool", lambda _: "1")
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_a_change_of_what_the_tests_need_changes_the_digest(root: Path, name: str) -> None:
    before = digest(CHECK)
    with (root / name).open("a") as file:
        file.write("\n")
    assert (digest(CHECK) != before) == (name in NEEDED)


def test_a_new_file_and_a_new_name_change_the_digest(root: Path) -> None:
    before = digest(CHECK)
    (root / "cerlab" / "more.lark").touch()
    (root / "proofs_tests" / "dear" / "test_more.py").touch()
    middle = digest(CHECK)
    (root / "cerlab" / "more.lark").rename(root / "cerlab" / "most.lark")
    assert len({before, middle, digest(CHECK)}) == 3


def test_versions_change_the_digest(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {digest(CHECK)}
    with monkeypatch.context() as patch:
        patch.setattr(records, "version", lambda _: "0.1")
        found.add(digest(CHECK))
    monkeypatch.setattr(platform, "python_version_tuple", lambda: ("3", "99", "1"))
    assert len({*found, digest(CHECK)}) == 3


def test_a_pattern_without_a_file_is_an_error(root: Path) -> None:
    with pytest.raises(FileNotFoundError, match="grammars"):
        digest(Check(("proofs_tests/dear",), files=("grammars/*",)))


def test_the_tool_has_the_version_of_the_record_or_is_missing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_valid("dear")
    assert records.main(["dear"]) == 1
    records.write("dear")
    for there, valid in (("1", True), ("2", False), (None, True)):
        monkeypatch.setattr(records, "version_of_tool", lambda _, there=there: there)
        assert is_valid("dear") == valid
    assert records.main(["dear"]) == 0
    (root / "cerlab" / "engine.py").write_text("")
    assert not is_valid("dear")


TEST = "proofs_tests/dear/test_dear.py::test_it[a/b]"


def report(outcome: str, longrepr: str = "", nodeid: str = TEST) -> Any:
    states = {each: each == outcome for each in ("passed", "failed", "skipped")}
    return SimpleNamespace(nodeid=nodeid, longrepr=longrepr, **states)


@pytest.mark.parametrize(
    ("outcomes", "status", "is_written"),
    [
        ([report("passed")], 0, True),
        ([report("passed"), report("failed", nodeid="proofs_tests/test_other.py::t")], 1, True),
        ([report("passed"), report("skipped", "left to --profile deep")], 0, True),
        ([], 0, False),
        ([report("passed"), report("failed")], 1, False),
        ([report("passed"), report("skipped", "not installed: prover")], 0, False),
        ([report("passed")], pytest.ExitCode.INTERRUPTED, False),
    ],
)
def test_a_record_is_written_where_all_tests_pass(
    root: Path, outcomes: list[Any], status: int, is_written: bool
) -> None:
    run = Run([], ["dear"])
    for each in outcomes:
        run.pytest_runtest_logreport(each)
    run.pytest_sessionfinish(status)
    assert is_valid("dear") == is_written


def test_no_record_is_written_of_files_that_change_or_cannot_be_collected(root: Path) -> None:
    for spoil in (
        lambda run: run.pytest_collectreport(report("failed")),
        lambda _: (root / "cerlab" / "engine.py").write_text("changed"),
    ):
        run = Run([], ["dear"])
        run.pytest_runtest_logreport(report("passed"))
        spoil(run)
        run.pytest_sessionfinish(0)
        assert not is_valid("dear")


@pytest.mark.parametrize(
    ("changed", "planned"),
    [
        ({}, "checked"),
        ({"args": ["proofs_tests/dear"]}, "checked"),
        ({"args": ["proofs_tests/dear/test_dear.py"]}, ""),
        ({"args": [f"./{TEST}"]}, ""),
        ({"args": ["cerlab"]}, ""),
        ({"keyword": "it"}, ""),
        ({"maxfail": 1}, ""),
        ({"profile": Profile.SMOKE}, ""),
        ({"profile": Profile.DEEP}, "checked"),
    ],
)
def test_a_valid_record_leaves_its_tests_out_unless_they_are_named(
    root: Path, changed: dict[str, Any], planned: str
) -> None:
    values = {"keyword": "", "deselect": None, "maxfail": 0, "profile": Profile.QUICK, **changed}
    values.setdefault("args", ["proofs_tests", "cerlab"])
    config: Any = SimpleNamespace(
        args=values["args"],
        invocation_params=SimpleNamespace(dir=root),
        option=SimpleNamespace(**values),
        getoption=lambda _: values["profile"],
    )
    assert records.plan(config) == ([], ["dear"] if planned else [])
    records.write("dear")
    named = any("dear" in each for each in values["args"])
    if named or values["profile"] is Profile.DEEP:
        assert records.plan(config) == ([], ["dear"] if planned else [])
    else:
        assert records.plan(config) == (["dear"], [])


def test_files_of_a_check_that_is_left_out_are_not_collected(root: Path) -> None:
    left_out = Run(["dear"]).pytest_ignore_collect
    assert left_out(root / "proofs_tests" / "dear" / "test_dear.py")
    assert left_out(root / "proofs_tests" / "dear")
    assert left_out(root / "proofs_tests" / "test_other.py") is None
    assert left_out(root.parent) is None


def test_modules_are_reached_as_the_graph_of_imports_has_them() -> None:
    root = Path(__file__).parents[1]
    graph = graph_of(modules(root / "proofs_tests") | modules(root / "cerlab"))
    paths = {
        name: path
        for name in graph
        for path in (
            root / f"{name.replace('.', '/')}.py",
            root / name.replace(".", "/") / "__init__.py",
        )
        if path.exists()
    }
    found = reached(["proofs_tests.spark.test_page"], paths)
    assert "cerlab.engine.kernels" in found
    for name in found:
        package = name.rpartition(".")[0]
        assert graph[name] | ({package} if package else set()) <= found


def test_checks_are_of_services() -> None:
    root = Path(__file__).parents[1]
    for check in CHECKS.values():
        for tests in check.tests:
            paths = [root / tests] if tests.endswith(".py") else [*(root / tests).glob("test_*.py")]
            texts = [path.read_text(encoding="utf-8") for path in paths]
            assert any("services" in text or "spark: Any" in text for text in texts)


def test_the_records_in_the_repository_have_checks() -> None:
    if records.RECORDS.exists():
        assert json.loads(records.RECORDS.read_text()).keys() <= CHECKS.keys()
