"""The replies of cerlab to cases, for each of its languages."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from cerlab import api, flinkcep
from cerlab.api import questions
from cerlab.conformance import Case
from cerlab.conformance.values import decode, encode
from cerlab.decisions import Verdict
from cerlab.errors import CerlabError, CerlabWarning, DataPlace, SourcePlace
from cerlab.logic import gcq
from cerlab.logic.focel import semantics as focel
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.rows.recognise import match_recognize
from cerlab.why import Why

Reply = dict[str, Any]


def reply_of(case: Case, evaluator: Any = "auto") -> Reply:
    """Return cerlab's reply to a case as JSON; an error becomes a refusal.

    >>> from cerlab.conformance import cases
    >>> reply_of(next(cases("unless")))
    {'answers': [{'start': 0, 'end': 2, 'positions': [0, 2]}]}
    """
    with warnings.catch_warnings(record=True, action="always", category=CerlabWarning) as caught:
        try:
            reply = LANGUAGES[case.language](case, evaluator)
        except CerlabError as error:
            return refusal(error)
    if case.kind == "warnings":
        reply["warnings"] = [str(each.message).partition(":")[0] for each in caught]
    return reply


def refusal(error: CerlabError) -> Reply:
    """Return the reply to a refused case: the message, kind, code and place of its error."""
    reply: Reply = {"refused": error.message, "kind": type(error).__name__, "code": error.code}
    match error.place:
        case SourcePlace(text, span):
            line = [*text.splitlines(), ""][span.line - 1]
            end = span.end_column - 1 if span.end_line == span.line else len(line)
            return {**reply, "at": line[span.column - 1 : end]}
        case DataPlace(_, int(row)):
            return {**reply, "at": row}
    return reply


def answer_json(answer: ComplexEvent | Valuation) -> Reply:
    """Return an answer as JSON."""
    interval = {"start": answer.start, "end": answer.end}
    if isinstance(answer, ComplexEvent):
        return {**interval, "positions": list(answer.positions)}
    return {**interval, "labels": {name: list(at) for name, at in sorted(answer.labels.items())}}


def _of_family(case: Case, evaluator: Any) -> Reply:
    """Return the reply about a formula or query of the CEL family."""
    logic = case.options.get("logic", "so")
    match case.question:
        case {"satisfiable": _}:
            return _verdict(questions.satisfiable(case.query))
        case {"contained": other}:
            return _verdict(questions.contained(case.query, other))
        case {"equivalent": other}:
            return _verdict(questions.equivalent(case.query, other))
        case {"why": positions, **interval}:
            return _why(questions.why(case.query, case.stream, positions, logic=logic, **interval))
    if case.kind == "count":
        return {"count": encode(api.count(case.query, case.stream))}
    if case.kind == "valuations" and evaluator == "reference":
        found = api.valuations(case.query, case.stream, logic=logic)
        return {"valuations": list(map(answer_json, found))}
    answers = api.evaluate(case.query, case.stream, evaluator=evaluator, logic=logic)
    return {"answers": list(map(answer_json, answers))}


def _verdict(verdict: Verdict) -> Reply:
    events = {} if verdict.witness is None else {"witness": len(verdict.witness.events)}
    return {"verdict": {"holds": verdict.holds, **events}}


def _why(why: Why) -> Reply:
    facts: Reply = {"holds": why.holds}
    if why.failure is not None:
        failure = why.failure
        facts |= {"kind": failure.kind.value, "positions": list(failure.positions)}
        facts["words"] = failure.words
    return {"why": facts}


def _of_variables(case: Case, evaluator: Any) -> Reply:
    """Return the reply about a formula of FO-CEL, which need not be well-formed."""
    phi = focel.with_variables(api.parse_formula(case.query))
    return {"matches": [sorted(C) for C in focel.complex_events(phi, case.stream.events)]}


def _of_sremo(case: Case, evaluator: Any) -> Reply:
    """Return the reply about a SREMO: its matches, or its answers on a stream."""
    if "why" in case.question:
        positions, interval = case.question["why"], {**case.question}
        del interval["why"]
        return _why(questions.why(api.parse_sremo(case.query), case.stream, positions, **interval))
    if case.kind == "matches":
        return {"matches": list(map(list, api.matches(case.query, case.stream)))}
    sremo = api.parse_sremo(case.query)
    answers = api.evaluate(sremo, case.stream, evaluator=evaluator)
    return {"answers": list(map(answer_json, answers))}


def _of_rows(case: Case, evaluator: Any) -> Reply:
    """Return the result of a MATCH_RECOGNIZE clause on a table."""
    table: Any = case.rows
    if "schema" in case.options:
        columns = [pa.field(name, _ARROW[kind]) for name, kind in case.options["schema"].items()]
        table = pa.Table.from_pylist(table, schema=pa.schema(columns))
    result = match_recognize(case.query, table, evaluator=evaluator)
    values = [[encode(value) for value in row.values()] for row in result.to_pylist()]
    return {"rows": {"columns": result.column_names, "values": values}}


_ARROW = {
    "boolean": pa.bool_(),
    "integer": pa.int64(),
    "double": pa.float64(),
    "text": pa.string(),
    "moment": pa.timestamp("ns", "UTC"),
    "duration": pa.duration("ns"),
}
"""Column types that a case can declare."""


def _of_conjunction(case: Case, evaluator: Any) -> Reply:
    """Return the tuples of a generalised conjunctive query after all updates."""
    updates = [
        gcq.Insert(update["insert"], tuple(decode(update["values"])))
        if "insert" in update
        else gcq.Delete(update["delete"], tuple(decode(update["values"])))
        for update in case.events
    ]
    found = gcq.answers(gcq.parse_gcq(case.query), gcq.database(updates))
    return {"tuples": [encode(row) for row in found]}


def _of_flink(case: Case, evaluator: Any) -> Reply:
    """Return the matches of a pattern sequence of FlinkCEP."""
    found = flinkcep.matches(flinkcep.parse_pattern(case.query), case.stream)
    return {"groups": [{name: list(at) for name, at in V.labels.items()} for V in found]}


LANGUAGES: Mapping[str, Callable[[Case, Any], Reply]] = {
    "cel": _of_family,
    "ceql": _of_family,
    "fo-cel": _of_variables,
    "sremo": _of_sremo,
    "rows": _of_rows,
    "gcq": _of_conjunction,
    "flinkcep": _of_flink,
}
"""Function of each language; its second argument is the evaluator."""
