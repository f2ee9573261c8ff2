"""A checkpoint before a stream goes on: whose it is, and what its logs and those of its output say.

Another query's is refused at once, by what is written into it before a query begins.

A micro-batch is in ``offsets`` when it begins, in the log of the output when its answers are there,
in ``commits`` when it is over. Spark passes over answers of a micro-batch that the output has, and
over rows of files that ``sources`` has: where a log is damaged, or of another stream, they would be
missing without a word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cerlab.errors import BadData, DataPlace
from cerlab.spark.stream.state import ANOTHER, GO_ON

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLAIM = "cerlab-query"
"""A folder in a checkpoint that says whose it is."""

_FILE = re.compile(r"(\d+)(\.compact)?")
_READ = re.compile(r'^\{"logOffset":(\d+)\}$', re.MULTILINE)
"""The last entry of ``sources`` that a micro-batch reads, as ``offsets`` has it."""


@dataclass(frozen=True, slots=True)
class Log:
    """A log on whatever file system Spark has it: its entries by number."""

    place: str
    names: dict[int, str]

    @property
    def newest(self) -> int:
        """The number of its last entry, -1 for none."""
        return max(self.names, default=-1)

    def check_whole(self) -> None:
        """Raise `BadData` if an entry before the newest one is missing; compact ones hold all."""
        compact = [n for n, name in self.names.items() if name.endswith(".compact")]
        for number in range(max(compact, default=0), self.newest):
            if number not in self.names:
                raise damage_error(self.place, f"entry {number} is missing")


def damage_error(place: str, what: str) -> BadData:
    """The error of a log that is not what it has to be."""
    hint = "go on with older copies of checkpoint and output, or begin anew with other places"
    return BadData("CER0778", what, place=DataPlace(place), hint=hint)


def check_logs(spark: SparkSession, checkpoint: str, output: str | None = None) -> None:
    """Raise `BadData` where the logs of a checkpoint, or of it and its output, do not fit together.

    Or where one is not what its checksum says, on file systems that keep some. The JVM of the
    session reads them; over Spark Connect there is none here, and what Spark checks is all.
    """
    if getattr(spark, "_jvm", None) is None:
        return
    place = checkpoint.rstrip("/")
    offsets, commits, sources = (
        _log(spark, f"{place}/{folder}") for folder in ("offsets", "commits", "sources/0")
    )
    if commits.newest > offsets.newest:
        raise damage_error(offsets.place, f"micro-batch {commits.newest} is over and has not begun")
    sources.check_whole()
    for number in sources.names:
        _text(spark, sources, number)
    if commits.names:
        _text(spark, commits, commits.newest)
    if offsets.names:
        text = _text(spark, offsets, offsets.newest)
        if (read := _READ.search(text)) is not None and int(read[1]) > sources.newest:
            raise damage_error(sources.place, f"entry {read[1]}, which was read, is missing")
    if output is not None:
        _check_output(_log(spark, f"{output.rstrip('/')}/_spark_metadata"), offsets, commits)


def _check_output(answers: Log, offsets: Log, commits: Log) -> None:
    """The output has the answers of the micro-batches that are over, and of none to come."""
    if answers.newest > offsets.newest:
        what = f"it has the answers of micro-batch {answers.newest}, which has not begun"
        raise damage_error(answers.place, f"{what} by {offsets.place}")
    if answers.newest < commits.newest:
        raise damage_error(answers.place, f"it lacks the answers of micro-batch {commits.newest}")
    answers.check_whole()


def _log(spark: Any, place: str) -> Log:
    files, path = _file_system(spark, place)
    entries = files.listStatus(path) if files.exists(path) else ()
    matches = (_FILE.fullmatch(each.getPath().getName()) for each in entries)
    return Log(place, {int(each[1]): each[0] for each in matches if each is not None})


def _text(spark: Any, log: Log, number: int) -> str:
    """An entry, which the file system compares with its checksum."""
    from py4j.protocol import Py4JJavaError

    files, path = _file_system(spark, f"{log.place}/{log.names[number]}")
    try:
        stream = files.open(path)
        try:
            return str(spark._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()
    except Py4JJavaError as error:
        raise damage_error(
            log.place, f"entry {number}: {error.java_exception.getMessage()}"
        ) from None


def _file_system(spark: Any, place: str) -> tuple[Any, Any]:
    """The file system of a path, and the path, as Spark has them."""
    path = spark._jvm.org.apache.hadoop.fs.Path(place)
    return path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()), path


def claim(spark: SparkSession, checkpoint: str, job: str) -> None:
    """Write into a checkpoint whose it is, unless it says so already.

    `job` is `cerlab.spark.stream.step.digest`. Raises `BadData` for a checkpoint of another query
    or other settings, before anything of it is used.
    """
    from pyspark.errors import AnalysisException

    place = f"{checkpoint.rstrip('/')}/{CLAIM}"
    try:
        owners = [row[0] for row in spark.read.text(place).collect()]
    except AnalysisException:
        owners = []
    if not owners:
        frame = spark.createDataFrame([(job,)], "job string").coalesce(1)
        frame.write.mode("overwrite").text(place)
    elif owners != [job]:
        raise BadData("CER0776", ANOTHER, place=DataPlace(checkpoint), hint=GO_ON)
