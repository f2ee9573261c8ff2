"""The ways from a case to its answers, and the table of the cases that each way supports.

    python -m proofs_tests.conformance.ways

writes the table anew. A way that supports fewer cases than before needs an entry in the suite's
change list.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import cerlab
from cerlab.cli import main
from cerlab.conformance import Case, Group, answer_of, difference, groups
from cerlab.evaluate import EVALUATORS
from cerlab.testing import as_dict

TABLE = Path(__file__).parent / "ways.txt"

Way = Callable[[Case], list[Any]]
"""The answers to a case; raises `Unsupported` where the way does not take it."""


def by_evaluator(name: Any) -> Way:
    """Return the way by one evaluator."""
    return lambda case: answer_of(case, name)


def query_of(case: Case) -> cerlab.Query:
    """Return the query of a case; a formula selects all its labels."""
    text = case.query if case.language == "ceql" else f"SELECT * WHERE {case.query}"
    return cerlab.parse_query(text)


def by_session(case: Case) -> list[Any]:
    """Push the events in batches of random sizes, each to a session restored from a state."""
    rng, query, events = Random(case.id), query_of(case), list(case.events)
    try:
        session, answers = query.open(**case.options), list[Any]()
    except cerlab.UsageError as error:
        # Of a whole stream the only column of moments is the time; a session has to be told.
        raise cerlab.Unsupported(error.code, error.message) from error
    while events:
        size = rng.choice((1, 1, 2, 3, 9))
        answers += session.push([dict(event) for event in events[:size]])
        events = events[size:]
        session = query.open(state=session.state())
    return answers


def by_command(case: Case) -> list[Any]:
    """Run `cerlab run` in this process on a file of the events."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.ndjson"
        rows = [as_dict(event) for event in case.stream.events]
        path.write_text("".join(f"{json.dumps(row, allow_nan=False)}\n" for row in rows))
        arguments = ["run", case.query, str(path), "--language", case.language]
        if "time" in case.options:
            arguments += ["--time", f"{case.options['time']}:{case.options['unit']}"]
        out, errors = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(errors):
            status = main(arguments)
    assert status == 0, errors.getvalue()
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    return [cerlab.ComplexEvent(m["start"], m["end"], tuple(m["positions"])) for m in lines]


WAYS: Mapping[str, Way] = {
    "auto": by_evaluator("auto"),
    **{name: by_evaluator(name) for name in EVALUATORS},
    "session": by_session,
}


def has_file(case: Case) -> bool:
    """Return whether a file of plain JSON holds the events: an empty one is refused."""
    plain = (int, str, bool, type(None))
    return bool(case.events) and all(
        isinstance(value, plain) or (isinstance(value, float) and abs(value) < 1e300)
        for event in case.events
        for value in event.values()
    )


def counts_of(group: Group) -> Counter[str]:
    """Return the number of cases that each way supports; raise `AssertionError` for a wrong one."""
    counts = Counter[str]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cerlab.CerlabWarning)
        for case in group.cases:
            for name, way in WAYS.items():
                try:
                    got = way(case)
                except cerlab.Unsupported:
                    continue
                assert not (wrong := difference(case, got)), f"{case.id} by {name}: {wrong}"
                if name != "session" and got and isinstance(got[0], cerlab.ComplexEvent):
                    assert tuple(got) == case.answers, f"{case.id} by {name}: another order"
                counts[name] += 1
            if has_file(case):
                assert not (wrong := difference(case, by_command(case))), f"{case.id}: {wrong}"
                counts["command"] += 1
            assert cerlab.count(case.query, case.stream) == len(case.answers), case.id
            if " LIMIT " not in case.query:  # totals are of all answers
                totals = query_of(case).run(case.stream).aggregate(count=True)
                assert totals.column("count").to_pylist() == [len(case.answers)], case.id
    return counts


def line_of(group: Group, counts: Counter[str]) -> str:
    """Return the line of a group in the table."""
    numbers = (counts[name] for name in (*WAYS, "command"))
    return f"{group.name:28} {len(group.cases):6}" + "".join(f"{n:11}" for n in numbers)


def head() -> str:
    """Return the first line of the table."""
    return f"{'group':28} {'cases':>6}" + "".join(f"{name:>11}" for name in (*WAYS, "command"))


if __name__ == "__main__":
    lines = [line_of(group, counts_of(group)) for group in groups()]
    TABLE.write_text("\n".join([head(), *lines]) + "\n")
