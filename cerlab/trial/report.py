"""The report of a trial: a page for a browser, and for each cause a folder to reproduce it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from cerlab import __version__
from cerlab.errors import CerlabError, Unsupported, UsageError
from cerlab.rows.sql import SqlSession
from cerlab.trial import Cause, Judgement, Tally, Trial, Verdict
from cerlab.trial.languages import LANGUAGES, Row, surplus

_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse}td,th{padding:.2em .7em;border-bottom:1px solid #ddd;text-align:left}
td.n{text-align:right}pre{background:#f6f6f6;padding:.7em;overflow:auto}.fault{color:#b00}"""


def write_report(outcome: Trial, folder: Path) -> None:
    """Write ``index.html``, ``trial.json``, and ``ENGINE/NUMBER/`` with query, data and answers."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(page(outcome), encoding="utf-8")
    (folder / "trial.json").write_text(json.dumps(summary(outcome), indent=1) + "\n")
    for tally in outcome.tallies:
        for number, cause in enumerate(tally.causes, 1):
            _write_case(cause, folder / tally.name / f"{number}")


def _write_case(cause: Cause, folder: Path) -> None:
    """Write a case as files that ``cerlab run`` accepts, with its expected output."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"query.{'sql' if cause.case.language == 'rows' else 'ceql'}").write_text(
        cause.case.text + "\n"
    )
    _write_lines(folder / "events.ndjson", cause.case.rows)
    _write_lines(folder / "expected.ndjson", expected_rows(cause))


def _write_lines(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))


def expected_rows(cause: Cause) -> list[Row]:
    """Return the answers of the reference as rows."""
    answers = LANGUAGES[cause.case.language].answers(cause.case)
    if cause.case.language == "rows":
        return list(answers)
    return [{"start": m.start, "end": m.end, "positions": list(m.positions)} for m in answers]


def summary(outcome: Trial) -> Row:
    """Return a trial as JSON."""
    return {
        "cerlab": __version__,
        "seed": outcome.seed,
        "cases": outcome.cases,
        "answered": outcome.with_answers,
        "seconds": round(outcome.seconds, 1),
        "absent": dict(outcome.absent),
        "engines": [
            {
                "name": tally.name,
                "version": tally.version,
                "verdicts": {v.value: tally.verdicts[v] for v in Verdict},
                "unsorted": [
                    {"verdict": j.verdict.value, "query": case.text, "data": case.rows}
                    for case, j in tally.unsorted_faults
                ],
                "causes": [
                    {
                        "verdict": cause.verdict.value,
                        "features": sorted(cause.features),
                        "met": cause.count,
                        "after": round(cause.after, 1),
                        "query": cause.case.text,
                        "data": cause.case.rows,
                        "others": {name: j.verdict.value for name, j in cause.others.items()},
                    }
                    for cause in tally.causes
                ],
            }
            for tally in outcome.tallies
        ],
    }


def page(outcome: Trial) -> str:
    """Return the report as a self-contained HTML page."""
    return "\n".join(
        (
            "<!doctype html><html lang=en><meta charset=utf-8><title>cerlab trial</title>",
            f"<style>{_STYLE}</style><h1>Engines on trial</h1>",
            f"<p>{outcome.cases:,} random cases, {outcome.with_answers:,} of them with answers; "
            f"seed {outcome.seed}, {outcome.seconds:,.0f} seconds, cerlab {escape(__version__)}. "
            "What is right is what the reference semantics says.</p>",
            *_totals(outcome),
            *(line for tally in outcome.tallies for line in _engine(tally)),
            "</html>\n",
        )
    )


def _totals(outcome: Trial) -> Iterator[str]:
    yield "<table><tr><th>engine<th>version" + "".join(f"<th>{v.value}" for v in Verdict)
    yield "<th>causes</tr>"
    for tally in outcome.tallies:
        counts = "".join(f"<td class=n>{tally.verdicts[v]:,}" for v in Verdict)
        yield f"<tr><td>{escape(tally.name)}<td>{escape(tally.version)}{counts}"
        yield f"<td class=n>{len(tally.causes)}</tr>"
    yield "</table>"
    yield from (
        f"<p>Not there: <b>{escape(name)}</b> ({escape(why)})</p>" for name, why in outcome.absent
    )


def _engine(tally: Tally) -> Iterator[str]:
    yield f"<h2>{escape(tally.name)} {escape(tally.version)}</h2>"
    if not tally.causes:
        yield "<p>No fault.</p>"
    if tally.unsorted_faults:
        yield f"<p>{len(tally.unsorted_faults):,} faults are not sorted: there was no time.</p>"
    for number, cause in enumerate(tally.causes, 1):
        yield f"<h3>{number}. <span class=fault>{cause.verdict.value}</span>: "
        features = ", ".join(sorted(cause.features)) or "anything"
        yield f"{escape(features)} ({cause.count:,} cases, after {cause.after:,.0f} s)</h3>"
        yield f"<pre>{escape(cause_text(cause))}</pre>"
    if tally.reasons:
        yield "<details><summary>What it refuses</summary><ul>"
        for reason, times in tally.reasons.most_common():
            yield f"<li>{escape(reason)} ({times:,})"
        yield "</ul></details>"


def cause_text(cause: Cause) -> str:
    """Return a cause as text: the case, the wrong answers, the other engines' judgements."""
    return "\n".join(
        (
            cause.case.text,
            *(f"  {json.dumps(row)}" for row in cause.case.rows),
            *_wrong(cause.judgement),
            *(f"{name}: {_short(judgement)}" for name, judgement in cause.others.items()),
        )
    )


def _wrong(judgement: Judgement) -> Iterator[str]:
    yield from (f"missing: {json.dumps(row, default=str)}" for row in judgement.missing)
    yield from (f"too many: {json.dumps(row, default=str)}" for row in judgement.extra)
    if judgement.message:
        yield f"{judgement.verdict.value}: {judgement.message}"


def _short(judgement: Judgement) -> str:
    message = f" ({judgement.message[:120]})" if judgement.message else ""
    return judgement.verdict.value + message


_CLAUSE = re.compile(r"\bMATCH_RECOGNIZE\b(?!')", re.IGNORECASE)
"""Pattern of MATCH_RECOGNIZE outside string literals, since catalogue queries quote the word."""


_NO_FILE = re.compile(r'No files found that match the pattern "([^"]+)"')


_TABLE = re.compile(r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:TABLE|VIEW)\s+(\w+)", re.IGNORECASE)


_NO_TABLE = re.compile(r"Table with name (\w+) does not exist")


_SORTS = ("nosort", "rowsort", "valuesort")


@dataclass(frozen=True, slots=True)
class Record:
    """A statement or query in a test file.

    `error` is true if an error is expected; `rows` is the expected result, None for a statement.
    """

    line: int
    sql: str
    error: bool
    rows: list[list[str]] | None = None
    sort: str = "nosort"


@dataclass(frozen=True, slots=True)
class RecordCheck:
    """The verdict on a record, with the message of an error or a difference."""

    path: Path
    record: Record
    verdict: Verdict
    message: str = ""
    clause: str = ""
    """The clause of the standard that settles a disputed record."""
    lacks: str = ""
    """The missing file that the record needs."""


class Settlement(NamedTuple):
    """A disputed record, by file and a part of its SQL, with the clause that settles it."""

    file: str
    clause: str
    part: str


def settlements_in(text: str) -> list[Settlement]:
    """Return the entries of a list of lines ``FILE CLAUSE PART OF THE SQL``; # starts a comment.

    >>> settlements_in("a.test 11.10 SELECT * FROM t")
    [Settlement(file='a.test', clause='11.10', part='SELECT*FROMt')]
    """
    lines = (line.split(None, 2) for line in text.splitlines())
    entries = [words for words in lines if words and not words[0].startswith("#")]
    if any(len(words) < 3 for words in entries):
        hint = "write FILE CLAUSE PART OF THE SQL"
        raise UsageError(
            "CER0857", "expected three words in a line of a list of settled records", hint=hint
        )
    return [Settlement(file, clause, _without_spaces(part)) for file, clause, part in entries]


def _without_spaces(text: str) -> str:
    return "".join(text.split())


def records(text: str) -> Iterator[Record]:
    """Yield the records of a file, without settings of other engines' runners."""
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
        answer_lines: list[str] = []
        if at < len(lines) and lines[at].strip() == "----":
            at += 1
            while at < len(lines) and lines[at].strip():
                answer_lines.append(lines[at])
                at += 1
        if words[0] == "statement":
            yield Record(first, "\n".join(sql), words[1] == "error")
        else:
            sort = next((word for word in words[2:] if word in _SORTS), "nosort")
            yield Record(first, "\n".join(sql), False, _rows(answer_lines, len(words[1])), sort)


def _rows(lines: Sequence[str], width: int) -> list[list[str]]:
    """Return rows of values: one row per line, separated by tabs, or one value per line."""
    if any("\t" in line for line in lines) or width == 1:
        return [line.split("\t") for line in lines]
    return [list(lines[i : i + width]) for i in range(0, len(lines), width)]


def check_files(folder: Path, settlements: Sequence[Settlement] = ()) -> Iterator[RecordCheck]:
    """Yield the check of each record with MATCH_RECOGNIZE in all ``*.test`` files of a folder.

    Raises `UsageError` if DuckDB is not installed.
    """
    for path in sorted(folder.rglob("*.test")):
        session, missing_files = SqlSession(), dict[str, str]()
        for record in records(path.read_text(encoding="utf-8")):
            outcome = _with_lack(_check(session, path, record), missing_files)
            if _CLAUSE.search(record.sql):
                yield outcome if outcome.verdict is Verdict.SAME else _settle(outcome, settlements)


def _settle(outcome: RecordCheck, settlements: Sequence[Settlement]) -> RecordCheck:
    """Return a check with the clause that settles its record, if the list has one."""
    name, sql = outcome.path.name, _without_spaces(outcome.record.sql)
    clauses = (each.clause for each in settlements if each.file == name and each.part in sql)
    return replace(outcome, clause=next(clauses, ""))


def _with_lack(outcome: RecordCheck, missing_files: dict[str, str]) -> RecordCheck:
    """Return a check with the missing file on which its record, or one of its tables, depends."""
    if outcome.verdict is not Verdict.CRASH:
        return outcome
    if (file := _NO_FILE.search(outcome.message)) is not None:
        if (table := _TABLE.match(outcome.record.sql)) is not None:
            missing_files[table[1].lower()] = file[1]
        return replace(outcome, lacks=file[1])
    unknown = _NO_TABLE.search(outcome.message)
    return replace(outcome, lacks=missing_files.get(unknown[1].lower(), "") if unknown else "")


def _check(session: SqlSession, path: Path, record: Record) -> RecordCheck:
    try:
        result = session.run(record.sql)
    except Unsupported as why:
        verdict = Verdict.SAME if record.error else Verdict.REFUSED
        return RecordCheck(path, record, verdict, why.message)
    except CerlabError as error:
        verdict = Verdict.SAME if record.error else Verdict.CRASH
        return RecordCheck(path, record, verdict, error.message)
    if record.error:
        return RecordCheck(path, record, Verdict.EXTRA, "expected an error")
    if record.rows is None:
        return RecordCheck(path, record, Verdict.SAME)
    answers = [[value_text(v) for v in row.values()] for row in _dicts(result)]
    expected = [[_plain(v) for v in row] for row in record.rows]
    missing, extra, in_order = compare_record(expected, answers, record.sort)
    if missing or extra:
        difference = f"missing {missing[:3]}, too many {extra[:3]}"
        return RecordCheck(path, record, Verdict.MISSING if missing else Verdict.EXTRA, difference)
    return RecordCheck(path, record, Verdict.SAME if in_order else Verdict.ORDER)


def _dicts(result: Any) -> list[dict[str, Any]]:
    return [] if result is None else list(result.to_pylist())


def compare_record(
    expected: list[list[str]], answers: list[list[str]], sort: str
) -> tuple[list[list[str]], list[list[str]], bool]:
    """Return the missing and the extra rows of a record, and whether the order is right."""
    if sort == "valuesort":
        expected, answers = (
            sorted([v] for row in rows for v in row) for rows in (expected, answers)
        )
    left, right = sorted(expected), sorted(answers)
    missing, extra = surplus(left, right), surplus(right, left)
    return missing, extra, sort != "nosort" or expected == answers


def value_text(value: Any) -> str:
    """Return a value as test files write it, numbers by value."""
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
    """Return numbers in one spelling and truth values as numbers; other texts unchanged."""
    text = {"true": "1", "false": "0"}.get(text, text)
    return format(float(text), ".10g") if _NUMBER.fullmatch(text) else text
