"""A run fails if a test is skipped, or fails as expected, without a place in the lists."""

from __future__ import annotations

import pytest

from proofs_tests import skips

PASSES = "def test_passes(): pass\n"
COQ = "not installed: coqc (Debian: apt-get install coq)"
LATE = "20 cases do not see this mutant: left to --profile quick"


def skipping(reason: str, whole_file: bool = False) -> str:
    if whole_file:
        return f"import pytest\npytest.skip({reason!r}, allow_module_level=True)"
    return f"import pytest\ndef test_skipped(): pytest.skip({reason!r})\n{PASSES}"


def run(pytester: pytest.Pytester, files: dict[str, str], *options: str) -> tuple[int, str]:
    """Return the exit status of a run on files under `proofs_tests`, and its output."""
    for name, text in files.items():
        path = pytester.path / "proofs_tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    plugins = ("-p", "proofs_tests.skips", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    result = pytester.runpytest_inprocess(*plugins, *options)
    return int(result.ret), result.stdout.str()


@pytest.mark.parametrize(
    ("file", "reason", "options", "status"),
    [
        ("rows/test_a.py", LATE, (), 0),
        ("rows/test_a.py", LATE, ("--no-missing-tools",), 0),
        ("mechanised/test_a.py", COQ, (), 0),
        ("mechanised/test_a.py", COQ, ("--no-missing-tools",), 1),
        ("rows/test_a.py", COQ, (), 1),
        ("rows/test_a.py", "not today", (), 1),
        ("rows/test_a.py", f"not today\n{COQ}", (), 1),
    ],
)
def test_a_skip_needs_an_allowed_reason_at_an_allowed_place(
    file: str, reason: str, options: tuple[str, ...], status: int, pytester: pytest.Pytester
) -> None:
    code, output = run(pytester, {file: skipping(reason)}, *options)
    assert code == status
    assert ("missing tools: Coq (1 skipped)" in output) is (reason == COQ and "mech" in file)
    shown = " ".join(reason.split("\n"))
    fault = f"proofs_tests/{file}::test_skipped: {shown}"
    assert (fault in " ".join(output.split("\n"))) is bool(status)


def test_a_missing_package_fails_the_run(pytester: pytest.Pytester) -> None:
    """The development dependencies are installed everywhere, so a missing one is a broken setup."""
    text = "import pytest\npytest.importorskip('no_such_package', reason='it draws')"
    code, output = run(pytester, {"viz/test_a.py": text, "test_b.py": PASSES})
    assert code == 1
    assert "proofs_tests/viz/test_a.py: it draws" in output


def test_workers_report_the_skips_of_files_once(pytester: pytest.Pytester) -> None:
    files = {"mechanised/test_a.py": skipping(COQ, True), "test_b.py": skipping("not today")}
    code, output = run(pytester, files, "-n", "2")
    assert code == 1
    assert "missing tools: Coq (1 skipped)" in output
    assert "proofs_tests/test_b.py::test_skipped: not today" in output


def test_expected_failures_are_those_of_the_list(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import pytest\n@pytest.mark.xfail\ndef test_fails(): assert 0\n" + PASSES
    fails, passes = (f"proofs_tests/test_a.py::test_{name}" for name in ("fails", "passes"))
    code, output = run(pytester, {"test_a.py": text})
    assert code == 1
    assert f"{fails}: an expected failure that is not listed" in output
    monkeypatch.setattr(skips, "EXPECTED_FAILURES", frozenset({fails}))
    assert run(pytester, {})[0] == 0
    monkeypatch.setattr(skips, "EXPECTED_FAILURES", frozenset({fails, passes}))
    code, output = run(pytester, {})
    assert code == 1
    assert f"{passes}: listed as an expected failure, but it passed" in output


def test_an_expected_failure_that_passes_is_a_failure(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.getini("xfail_strict") is True
