"""Files of sqllogictest, the test format of SQLite, DuckDB and others, with MATCH_RECOGNIZE by us.

A file is statements and queries with what they give. Statements are DuckDB's, and so is what is
around a clause. A query that cerlab refuses by name is counted as refused; an error that a file
expects is any error. A list may settle records whose answer is another one by a clause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from cerlab.api.sql import SqlSession
from cerlab.errors import CerlabError, Unsupported, UsageError
from cerlab.trial.languages import surplus
from cerlab.trial.verdicts import Verdict

_CLAUSE = re.compile(r"\bMATCH_RECOGNIZE\b(?!')", re.IGNORECASE)
"""The word, but not the text of it, which is in queries of a catalogue."""

_NO_FILE = re.compile(r'No files found that match the pattern "([^"]+)"')
_TABLE = re.compile(r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:TABLE|VIEW)\s+(\w+)", re.IGNORECASE)
_NO_TABLE = re.compile(r"Table with name (\w+) does not exist")

_SORTS = ("nosort", "rowsort", "valuesort")


@dataclass(frozen=True, slots=True)
class Record:
    """A statement or a query of a file.

    `error` says whether one is expected; `rows` what a query gives, None of a statement.
    """

    line: int
    sql: str
    error: bool
    rows: list[list[str]] | None = None
    sort: str = "nosort"


@dataclass(frozen=True, slots=True)
class Checked:
    """A record, what came of it, and what was said."""

    path: Path
    record: Record
    verdict: Verdict
    said: str = ""
    clause: str = ""
    """What settles that the answer is another one."""
    lacks: str = ""
    """The file that it needs and that is not there."""


class Settled(NamedTuple):
    """A record of a file, told by a part of its SQL, and the clause by which its answer differs."""

    file: str
    clause: str
    part: str


def settled_in(text: str) -> list[Settled]:
    """The records of a list: a line for each, ``FILE CLAUSE PART OF THE SQL``; # begins a comment.

    >>> settled_in("a.test 11.10 SELECT * FROM t")
    [Settled(file='a.test', clause='11.10', part='SELECT*FROMt')]
    """
    lines = (line.split(None, 2) for line in text.splitlines())
    listed = [words for words in lines if words and not words[0].startswith("#")]
    if any(len(words) < 3 for words in listed):
        hint = "FILE CLAUSE PART OF THE SQL"
        raise UsageError("CER0857", "a line of a list of settled records is cut off", hint=hint)
    return [Settled(file, clause, _dense(part)) for file, clause, part in listed]


def _dense(text: str) -> str:
    return "".join(text.split())


def records(text: str) -> Iterator[Record]:
    """The records of a file; settings of other engines' runners are left out."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        words = lines[at].split()
        if not words or words[0] not in ("statement", "query"):
            at += 1
            continue
        first, at = at + 1, at + 1
        sql: list[str] = []
        while at < len(lines) and lines[at].strip() not in ("", "----"):
            sql.append(lines[at])
            at += 1
        given: list[str] = []
        if at < len(lines) and lines[at].strip() == "----":
            at += 1
            while at < len(lines) and lines[at].strip():
                given.append(lines[at])
                at += 1
        if words[0] == "statement":
            yield Record(first, "\n".join(sql), words[1] == "error")
        else:
            sort = next((word for word in words[2:] if word in _SORTS), "nosort")
            yield Record(first, "\n".join(sql), False, _rows(given, len(words[1])), sort)


def _rows(lines: Sequence[str], width: int) -> list[list[str]]:
    """Rows of values: a row on a line between tabs, or a value on each."""
    if any("\t" in line for line in lines) or width == 1:
        return [line.split("\t") for line in lines]
    return [list(lines[i : i + width]) for i in range(0, len(lines), width)]


def check_files(folder: Path, settled: Sequence[Settled] = ()) -> Iterator[Checked]:
    """Every record that has to do with MATCH_RECOGNIZE of every ``*.test`` below a folder.

    Raises `UsageError` where DuckDB is not installed.
    """
    for path in sorted(folder.rglob("*.test")):
        session, unmade = SqlSession(), dict[str, str]()
        for record in records(path.read_text(encoding="utf-8")):
            checked = _lacking(_check(session, path, record), unmade)
            if _CLAUSE.search(record.sql):
                yield checked if checked.verdict is Verdict.SAME else _settled(checked, settled)


def _settled(checked: Checked, settled: Sequence[Settled]) -> Checked:
    """A record that differs, with the clause of the list that it is in, if it is."""
    name, sql = checked.path.name, _dense(checked.record.sql)
    clauses = (each.clause for each in settled if each.file == name and each.part in sql)
    return replace(checked, clause=next(clauses, ""))


def _lacking(checked: Checked, unmade: dict[str, str]) -> Checked:
    """A record with the file that it needs, itself or for one of the tables that were not made."""
    if checked.verdict is not Verdict.CRASH:
        return checked
    if (file := _NO_FILE.search(checked.said)) is not None:
        if (table := _TABLE.match(checked.record.sql)) is not None:
            unmade[table[1].lower()] = file[1]
        return replace(checked, lacks=file[1])
    unknown = _NO_TABLE.search(checked.said)
    return replace(checked, lacks=unmade.get(unknown[1].lower(), "") if unknown else "")


def _check(session: SqlSession, path: Path, record: Record) -> Checked:
    try:
        result = session.run(record.sql)
    except Unsupported as refused:
        verdict = Verdict.SAME if record.error else Verdict.REFUSED
        return Checked(path, record, verdict, refused.message)
    except CerlabError as error:
        verdict = Verdict.SAME if record.error else Verdict.CRASH
        return Checked(path, record, verdict, error.message)
    if record.error:
        return Checked(path, record, Verdict.EXTRA, "an error was expected")
    if record.rows is None:
        return Checked(path, record, Verdict.SAME)
    given = [[written(v) for v in row.values()] for row in _dicts(result)]
    expected = [[_plain(v) for v in row] for row in record.rows]
    missing, extra, ordered = _compared(expected, given, record.sort)
    if missing or extra:
        said = f"missing {missing[:3]}, too many {extra[:3]}"
        return Checked(path, record, Verdict.MISSING if missing else Verdict.EXTRA, said)
    return Checked(path, record, Verdict.SAME if ordered else Verdict.ORDER)


def _dicts(result: Any) -> list[dict[str, Any]]:
    return [] if result is None else list(result.to_pylist())


def _compared(
    expected: list[list[str]], given: list[list[str]], sort: str
) -> tuple[list[list[str]], list[list[str]], bool]:
    if sort == "valuesort":
        expected, given = (sorted([v] for row in rows for v in row) for rows in (expected, given))
    left, right = sorted(expected), sorted(given)
    missing, extra = surplus(left, right), surplus(right, left)
    return missing, extra, sort != "nosort" or expected == given


def written(value: Any) -> str:
    """A value as files have it, numbers by their value."""
    match value:
        case None:
            return "NULL"
        case bool():
            return _plain(str(value).lower())
        case float() | Decimal():
            return _plain(format(float(value), ".10g"))
        case "":
            return "(empty)"
        case _:
            return _plain(str(value))


_NUMBER = re.compile(r"-?\d+(\.\d*)?([eE][-+]?\d+)?")


def _plain(text: str) -> str:
    """Numbers in one spelling, truth as numbers; other texts as they are."""
    text = {"true": "1", "false": "0"}.get(text, text)
    return format(float(text), ".10g") if _NUMBER.fullmatch(text) else text
