"""The ways from a case to its answers, and the table of the cases that each way supports.

    python -m proofs_tests.conformance.ways

writes the table anew. A way that supports fewer cases than before needs an entry in the suite's
change list.
"""

from __future__ import annotations

import json
import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import cerlab
from cerlab import Duration, Timestamp, flinkcep
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.conformance import Case, Group, groups
from cerlab.conformance.judge import difference
from cerlab.conformance.replies import answer_json, refusal, reply_of
from cerlab.conformance.values import decode, encode
from cerlab.engine.reference.dqe import WindowEvaluation, WindowQuery
from cerlab.evaluate import EVALUATORS, choose
from cerlab.fuzz import features
from cerlab.logic import gcq
from cerlab.model.answer import complex_event
from cerlab.predicates.syntax import Comparison, Constant
from cerlab.testing import as_dict
from cerlab.theorems import srt as runs
from proofs_tests.command import command
from proofs_tests.conformance.questions import by_cerlab, by_reference

TABLE = Path(__file__).parent / "ways.txt"

Reply = Mapping[str, Any]
Way = Callable[[Case], Reply]
"""The reply to a case; the kind of its refusal is `Unsupported` where the way does not take it."""


def by_evaluator(name: Any) -> Way:
    """Return the way by one evaluator."""
    return lambda case: reply_of(case, name)


def by_labels(case: Case) -> Reply:
    """Ask for valuations by the evaluator that is best for them."""
    logic = case.options.get("logic", "so")
    try:
        found = cerlab.valuations(case.query, case.stream, logic=logic, evaluator="auto")
    except cerlab.CerlabError as error:
        return refusal(error)
    some = set(map(complex_event, found)) if case.kind == "answers" else found
    return {case.kind: list(map(answer_json, some))}


def query_of(case: Case) -> cerlab.Query:
    """Return the query of a case; a formula selects all its labels."""
    text = case.query if case.language == "ceql" else f"SELECT * WHERE {case.query}"
    return cerlab.parse_query(text)


def by_session(case: Case) -> Reply:
    """Push the events in batches of random sizes, each to a session restored from a state."""
    try:
        rng, query, events = Random(case.id), query_of(case), case.rows
        how = {name: value for name, value in case.options.items() if name != "until"}
        session, answers = query.open(**how), list[Any]()
        while events:
            size = rng.choice((1, 1, 2, 3, 9))
            answers += session.push(events[:size])
            events = events[size:]
            session = query.open(state=session.state())
        if "until" in case.options:
            answers += session.advance(decode(case.options["until"]))
    except cerlab.UsageError as error:
        # Of a whole stream the only column of moments is the time; a session has to be told.
        return {**refusal(error), "kind": "Unsupported"}
    except cerlab.CerlabError as error:
        return refusal(error)
    return {"answers": list(map(answer_json, answers))}


def arguments_of(case: Case, path: Path) -> list[str]:
    """Write the events to a file, and return the arguments of `cerlab run` on it."""
    rows = [as_dict(event) for event in case.stream.events]
    path.write_text("".join(f"{json.dumps(row, allow_nan=False)}\n" for row in rows))
    arguments = ["run", case.query, str(path), "--language", case.language]
    if "time" in case.options:
        names = [case.options[name] for name in ("time", "unit") if name in case.options]
        arguments += ["--time", ":".join(names)]
    if "until" in case.options:
        arguments += ["--until", str(decode(case.options["until"]))]
    return arguments


def by_command(case: Case) -> Reply:
    """Run `cerlab run` in this process on a file of the events."""
    with tempfile.TemporaryDirectory() as folder:
        status, out, errors = command(*arguments_of(case, Path(folder) / "events.ndjson"))
    if status:
        return {"refused": errors}
    rows = [json.loads(line) for line in out.splitlines()]
    keys = ("start", "end", "positions")
    return {"answers": [{key: row[key] for key in keys} for row in rows]}


WAYS: Mapping[str, Way] = {
    "auto": by_evaluator("auto"),
    **{name: by_evaluator(name) for name in EVALUATORS},
    "labels": by_labels,
    "session": by_session,
}
"""The ways of the CEL family; other languages have some of the evaluators."""

FAMILY = ("cel", "ceql")


def needs_of(case: Case) -> tuple[str, ...]:
    """Return the features of a query of the CEL family, and whether events hold moments."""
    if case.language not in FAMILY:
        return ()
    try:
        query = query_of(case).ast
    except cerlab.CerlabError:
        return ()
    found = {*features(query)}
    values = [value for row in case.rows for value in row.values()]
    if any(isinstance(value, Timestamp | Duration) for value in values):
        found.add("moments")
    return tuple(sorted(found))


def has_file(case: Case) -> bool:
    """Return whether a file of plain JSON holds the events.

    An empty file is refused, and so is an integer beyond 64 bits.
    """
    return bool(case.events) and all(_is_plain(v) for event in case.rows for v in event.values())


def _is_plain(value: Any) -> bool:
    match value:
        case None | bool() | str():
            return True
        case int():
            return -(2**63) <= value < 2**63
        case float():
            return abs(value) < 1e300
    return False


def counts_of(group: Group) -> Counter[str]:
    """Return the number of cases that each way supports; raise `AssertionError` for a wrong one."""
    counts = Counter[str]()
    with warnings.catch_warnings(action="ignore", category=cerlab.CerlabWarning):
        for case in group.cases:
            for name, way in ways_of(case).items():
                reply = way(case)
                is_expected = case.kind == "error" and case.expected["kind"] == "Unsupported"
                if reply.get("kind") == "Unsupported" and not is_expected:
                    continue
                wrong = difference(case, reply, codes=True)
                assert not wrong, f"{case.id} by {name}: {wrong}"
                is_listed = case.kind in ("answers", "valuations") and "answers" in reply
                if name not in UNORDERED and case.language in FAMILY and is_listed:
                    expected = list(map(answer_json, case.answers))
                    assert reply["answers"] == expected, f"{case.id} by {name}: another order"
                if case.kind == "rows":
                    # The judge takes 1 for 1.0; the columns of a result have one type each.
                    values = case.expected["values"]
                    assert reply["rows"]["values"] == values, f"{case.id} by {name}: types"
                counts[name] += 1
            # other queries list the answers
            if case.kind == "count" and query_of(case).machine_kind == "automaton":
                totals = query_of(case).run(case.stream).aggregate(count=True)
                assert encode(int(totals["count"][0].as_py())) == case.expected, case.id
            if "session" in ways_of(case):
                assert cerlab.count(case.query, case.stream) == len(case.answers), case.id
                assert count_by_engine(case) in (None, len(case.answers)), case.id
                if not re.search(" (LIMIT|THROTTLE) ", case.query):  # totals are of all answers
                    totals = query_of(case).run(case.stream).aggregate(count=True)
                    assert totals.column("count").to_pylist() == [len(case.answers)], case.id
    return counts


def count_by_engine(case: Case) -> int | None:
    """Return the number of answers by the compiled engine; None if it does not take the case."""
    try:
        return choose(query_of(case), "compiled").count(case.stream)
    except cerlab.Unsupported:
        return None


COLUMNS = (*WAYS, "command", "own")
"""The columns of the table; "own" is the way that only the language of the group has."""

UNORDERED = ("labels", "session", "command")
"""Ways whose answers come in another order."""


def ways_of(case: Case) -> Mapping[str, Way]:
    """Return the ways that a case can be asked by."""
    if case.question:
        return {"auto": by_cerlab, "reference": by_reference}
    evaluators = {name: by_evaluator(name) for name in ("auto", *EVALUATORS)}
    two = {name: evaluators[name] for name in ("auto", "reference")}
    if case.language == "sremo" and case.kind == "answers":
        return evaluators
    if case.language not in FAMILY:
        has_own = case.language in OWN and case.kind not in ("error", "warnings")
        own = {"own": OWN[case.language]} if has_own else {}
        if case.language == "rows":
            own["compiled"] = evaluators["compiled"]
        return {**two, **own}
    if "logic" in case.options or (case.kind == "error" and case.events):
        return evaluators
    if case.kind not in ("answers", "valuations") or "schema" in case.options:
        return two
    return {**WAYS, "command": by_command} if has_file(case) else WAYS


def by_variables(case: Case) -> Reply:
    """Evaluate a well-formed formula with variables for single events."""
    try:
        answers = cerlab.evaluate(case.query, case.stream, logic="fo")
    except cerlab.IllFormed as error:
        return {**refusal(error), "kind": "Unsupported"}
    assert answers == cerlab.evaluate(case.query, case.stream, logic="fo", evaluator="reference")
    return {"matches": [list(answer.positions) for answer in answers]}


def by_transducer(case: Case) -> Reply:
    """Follow all runs of the transducer of an expression over the whole stream."""
    try:
        T = sremo_to_srt(cerlab.parse_sremo(case.query))
    except cerlab.CerlabError as error:
        return refusal(error)
    return {"matches": list(map(list, runs.matches(T, case.stream.events)))}


def by_translation(case: Case) -> Reply:
    """Answer the formula that has the matches of a pattern of FlinkCEP."""
    try:
        pattern = flinkcep.parse_pattern(case.query)
        formula = flinkcep.to_cel(pattern)
        found = cerlab.valuations(formula, case.stream, evaluator="auto")
    except cerlab.CerlabError as error:
        return refusal(error)
    names = {part.name for part in pattern.parts}
    return {
        "groups": [{x: list(at) for x, at in V.labels.items() if x in names and at} for V in found]
    }


def by_algorithm_1(case: Case) -> Reply:
    """Maintain the window query after each update, if the query is one (DQE Alg. 1)."""
    query = window_query(gcq.parse_gcq(case.query))
    evaluation = WindowEvaluation(query)
    try:
        if query is None:
            raise cerlab.Unsupported("CER0460", "Algorithm 1 maintains the window query", hint="")
        for update in case.events:
            row = tuple(map(decode, update["values"]))
            relation = update.get("insert") or update["delete"]
            evaluation.process(relation, row, insertion="insert" in update)
    except cerlab.CerlabError as error:
        # It assumes that nothing is deleted and that timestamps increase.
        return {**refusal(error), "kind": "Unsupported"}
    return {"tuples": [list(map(encode, row)) for row in evaluation.enumerate()]}


def window_query(query: gcq.Gcq) -> WindowQuery | None:
    """Return the window query that a query is, or None."""
    relations = [atom.relation for atom in query.atoms]
    match query.predicates:
        case [_, _]:
            window, bound = None, ""
        case [_, _, Comparison(right=Constant(int(window)))]:
            bound = f", ts3 - ts1 < {window}"
        case _:
            return None
    if len(set(relations)) != 3:
        return None
    r, s, t = relations
    text = f"y, ts3 <- {r}(x, ts1), {s}(x, y, ts2), {t}(y, ts3) | ts1 < ts2 < ts3{bound}"
    return WindowQuery(r, s, t, window) if query == gcq.parse_gcq(text) else None


OWN: Mapping[str, Way] = {
    "fo-cel": by_variables,
    "rows": by_evaluator("search"),
    "sremo": by_transducer,
    "gcq": by_algorithm_1,
    "flinkcep": by_translation,
}
"""The ways that only one language has."""


def line_of(group: Group, counts: Counter[str]) -> str:
    """Return the line of a group in the table."""
    numbers = (counts[name] for name in COLUMNS)
    return f"{group.name:28} {len(group.cases):6}" + "".join(f"{n:11}" for n in numbers)


def head() -> str:
    """Return the first line of the table."""
    return f"{'group':28} {'cases':>6}" + "".join(f"{name:>11}" for name in COLUMNS)


def replies_in_table() -> int:
    """Return the number of replies that the table counts, by all ways and on all cases."""
    lines = TABLE.read_text().splitlines()[1:]
    return sum(int(number) for line in lines for number in line.split()[2:])


if __name__ == "__main__":
    lines = [line_of(group, counts_of(group)) for group in groups()]
    TABLE.write_text("\n".join([head(), *lines]) + "\n")
