"""Spark's exceptions as cerlab's errors: the fault in one line, without Java's stack."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from cerlab.errors import (
    BadData,
    CerlabError,
    DataPlace,
    ResourceLimit,
    TypeMismatch,
    Unsupported,
    UsageError,
)

CLASSES: dict[str, type[CerlabError]] = {
    "03": TypeMismatch,
    "04": Unsupported,
    "06": ResourceLimit,
    "07": BadData,
    "08": UsageError,
}
"""Error classes by the first two digits of the code, the only trace of a task's error."""

_OURS = re.compile(r"cerlab\.errors\.\w+: (CER\d{4}): (.*)(?:\s*\n\s*hint: (.*))?")

_NO_FILES = re.compile(
    r'No FileSystem for scheme "(\w*)"|Class org\.apache\.hadoop\.fs\.(\w+)\.\w+ not found'
)

_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '((?:cerlab|pyarrow|numpy|numba)\b)")
"""Modules that a worker imports first when it unpickles a task."""

_READING = re.compile(r"\[FAILED_READ_FILE\.(\w+)\] .*?while reading file (\S+?)\.?\s(.*)")

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\] (.*)")

_CAUSE = re.compile(r"^Caused by: [\w.$]+: (.+)$", re.MULTILINE)

_ENDED = (
    "JAVA_GATEWAY_EXITED",
    "SparkContext was shut down",
    "Cannot call methods on a stopped SparkContext",
    "java.lang.OutOfMemoryError",
    "Python worker exited unexpectedly",
)
"""Texts of Spark for a JVM or worker that has ended, mostly for lack of memory."""

_IN_MICROSECONDS = "write moments in microseconds: coerce_timestamps='us' in pyarrow and pandas"
_MORE = "cerlab spark --debug shows all that Java says"


@contextmanager
def failures(*places: str | None) -> Iterator[None]:
    """Raise Spark's exceptions in a block as `CerlabError`; `places` are inputs and outputs."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise error_of(error, *places) from None


def error_of(error: BaseException, *places: str | None) -> CerlabError:
    """Return the `CerlabError` in an exception of Spark, that is, the error that a task raised.

    For an action on the DataFrames of `match` and for a streaming query::

        try:
            answers.count()
        except Exception as error:
            raise cerlab.spark.error_of(error) from None

    The class, the code and the hint equal those of the same fault on one machine. Faults that Spark
    detects have a code too: a file that is missing or damaged, a JVM that has ended
    (`ResourceLimit`). Any other exception becomes `BadData` CER0785 with the first line of Spark.

    Args:
        error: the exception.
        places: the places of events and answers, to explain an unknown file system.
    """
    if isinstance(error, CerlabError):
        return error
    java = getattr(error, "java_exception", None)  # its text is longer than Python's
    text = str(error if java is None else _text_of(java, error))
    if ours := _OURS.findall(text):
        code, message, hint = ours[-1]
        return CLASSES.get(code[3:5], BadData)(code, message.strip(), hint=hint.strip())
    if (module := _NO_MODULE.search(text)) is not None:
        return _lacks(module[1])
    if "Redefining watermark is disallowed" in text:
        return two_watermarks()
    if (scheme := _NO_FILES.search(text)) is not None:
        return _no_files(scheme[1] or scheme[2], places)
    if (reading := _READING.search(text)) is not None:
        return _unread(reading[1], reading[2], reading[3], text)
    if _has_ended(error, text):
        which = "a Python worker" if "Python worker" in text else "the Java of Spark"
        return ResourceLimit(
            "CER0622",
            f"{which} has ended, probably for lack of memory",
            hint="give it more: PYSPARK_SUBMIT_ARGS='--driver-memory 4g pyspark-shell'; " + _MORE,
        )
    return _of_condition(text)


def _lacks(module: str) -> UsageError:
    """Return the error for a package that a worker's Python lacks."""
    return UsageError(
        "CER0892",
        f"a worker of Spark has no package '{module}'",
        hint="install this version of cerlab in the Python of all workers (PYSPARK_PYTHON)",
    )


def two_watermarks() -> UsageError:
    """Return the error for a stream that has a watermark although `lag` sets another."""
    return UsageError(
        "CER0893",
        "the DataFrame has a watermark, and lag= sets another: Spark allows one per query",
        hint="omit withWatermark: lag= replaces its delay",
    )


def _has_ended(error: BaseException, text: str) -> bool:
    """Return whether the JVM or a worker has ended; then py4j has no Java exception."""
    from py4j.protocol import Py4JError, Py4JJavaError

    no_answer = isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)
    is_gone = isinstance(error, ConnectionError) or (no_answer and "Trace:" not in text)
    return is_gone or any(each in text for each in _ENDED)


def _text_of(java: Any, error: BaseException) -> str:
    """Return the text of a Java exception and its causes, or of `error` if the JVM has ended."""
    from py4j.protocol import Py4JError

    lines: list[str] = []
    try:
        while java is not None:
            lines.append(("Caused by: " if lines else "") + str(java.toString()))
            java = java.getCause()
    except (Py4JError, OSError):
        return str(error)
    return "\n".join(lines)


def _no_files(scheme: str, places: tuple[str | None, ...]) -> UsageError:
    from cerlab.spark.footers import why_not_opened

    reasons = (why_not_opened(place) for place in places if place is not None)
    reason = next((f"; pyarrow: {why}" for why in reasons if why is not None), "")
    return UsageError(
        "CER0898",
        f"Spark knows no file system '{scheme}:'{reason}",
        hint="give a path of this machine, or start Spark with the package for that address",
    )


def _unread(kind: str, file: str, detail: str, text: str) -> BadData:
    """Return the error for a file that Spark cannot read; `kind` is Spark's name of the reason."""
    place = DataPlace(unquote(re.sub(r"^file:(//)?(?=/)", "", file)))
    if kind == "FILE_NOT_EXIST":
        hint = "do not move or delete the files during the query"
        return BadData("CER0743", "there is no such file", place=place, hint=hint)
    if kind == "PARQUET_COLUMN_DATA_TYPE_MISMATCH":
        if (column := re.search(r"column \[(.*?)\]", detail)) is not None:
            place = DataPlace(place.file, None, column[1])
        message = re.sub(r"^.*?column \[.*?\]\.\s*", "", detail).partition(" SQLSTATE")[0]
        hint = _IN_MICROSECONDS if "timestamp" in message else "write the files with one type"
        detail = f"the type in the file differs from the type that Spark reads: {message}"
        return BadData("CER0784", detail, place=place, hint=hint)
    causes = _CAUSE.findall(text)
    reason = causes[-1] if causes else detail.partition(" SQLSTATE")[0]
    return BadData(
        "CER0742",
        f"the file cannot be read: {reason.strip() or '--debug prints the reason'}",
        place=place,
        hint="write or copy a damaged file again, or take it out of the folder",
    )


def _of_condition(text: str) -> CerlabError:
    """Return the error for Spark's message, judged by the message's first line."""
    lines = text.strip().splitlines() or ["nothing"]
    first = next((line for line in lines if _CONDITION.search(line)), lines[0]).strip()
    condition = _CONDITION.search(first)
    name, detail = ("", first) if condition is None else (condition[1], condition[2])
    detail = detail.partition(" SQLSTATE")[0]
    match name:
        case "PATH_NOT_FOUND":
            return BadData("CER0743", detail, hint="check the path")
        case "UNABLE_TO_INFER_SCHEMA":
            return BadData("CER0743", "there are no files of events", hint="check the path")
        case "PATH_ALREADY_EXISTS":
            return UsageError("CER0889", detail, hint="give another place, or --overwrite")
        case "PARQUET_TYPE_ILLEGAL":
            return BadData("CER0741", f"Spark has no such type: {detail}", hint=_IN_MICROSECONDS)
        case "COLUMN_ALREADY_EXISTS":
            hint = "rename one, or set spark.sql.caseSensitive where upper and lower case differ"
            return BadData("CER0732", detail, hint=hint)
        case _:
            if "Python worker" in first:  # the worker's exception is in the last line
                first = next((s for s in map(str.strip, reversed(lines)) if s[:1].isalpha()), first)
            return BadData("CER0785", f"Spark says: {first}", hint=_MORE)
