"""The report of a trial: a page for a browser, and for each cause a folder to run again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from cerlab import __version__
from cerlab.trial import Tally, Trial
from cerlab.trial.causes import Cause
from cerlab.trial.languages import LANGUAGES, Row
from cerlab.trial.verdicts import Judgement, Verdict

_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse}td,th{padding:.2em .7em;border-bottom:1px solid #ddd;text-align:left}
td.n{text-align:right}pre{background:#f6f6f6;padding:.7em;overflow:auto}.fault{color:#b00}"""


def write_report(outcome: Trial, folder: Path) -> None:
    """``index.html``, ``trial.json``, and ``ENGINE/NUMBER/`` with query, data and answers."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(page(outcome), encoding="utf-8")
    (folder / "trial.json").write_text(json.dumps(summary(outcome), indent=1) + "\n")
    for tally in outcome.tallies:
        for number, cause in enumerate(tally.causes, 1):
            _write_case(cause, folder / tally.name / f"{number}")


def _write_case(cause: Cause, folder: Path) -> None:
    """The case as files that ``cerlab run`` takes, and what it gives."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"query.{'sql' if cause.case.language == 'rows' else 'ceql'}").write_text(
        cause.case.text + "\n"
    )
    _write_lines(folder / "events.ndjson", cause.case.rows)
    _write_lines(folder / "expected.ndjson", expected_rows(cause))


def _write_lines(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))


def expected_rows(cause: Cause) -> list[Row]:
    """The answers of the reference."""
    answers = LANGUAGES[cause.case.language].answers(cause.case)
    if cause.case.language == "rows":
        return list(answers)
    return [{"start": m.start, "end": m.end, "positions": list(m.positions)} for m in answers]


def summary(outcome: Trial) -> Row:
    """A trial as JSON."""
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
    """The report as HTML, which needs nothing else."""
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
    """A cause for a terminal: the case, what is wrong, what other engines do."""
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
