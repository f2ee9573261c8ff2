"""How cerlab replies to a case, by each of its languages."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from cerlab import api
from cerlab.conformance import Case
from cerlab.errors import CerlabError, CerlabWarning
from cerlab.model.answer import ComplexEvent, Valuation

Reply = dict[str, Any]


def reply_of(case: Case, evaluator: Any = "auto") -> Reply:
    """Return cerlab's reply to a case, as JSON; an error is the refusal of it.

    >>> from cerlab.conformance import cases
    >>> reply_of(next(cases("unless")))
    {'answers': [{'start': 0, 'end': 2, 'positions': [0, 2]}]}
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CerlabWarning)
        try:
            reply = LANGUAGES[case.language](case, evaluator)
        except CerlabError as error:
            return {"refused": error.message, "kind": type(error).__name__, "code": error.code}
    if case.kind == "warning":
        codes = {str(each.message).partition(":")[0] for each in caught}
        reply["warning"] = sorted(codes)
    return reply


def answer_json(answer: ComplexEvent | Valuation) -> Reply:
    """Return an answer as JSON."""
    interval = {"start": answer.start, "end": answer.end}
    if isinstance(answer, ComplexEvent):
        return {**interval, "positions": list(answer.positions)}
    return {**interval, "labels": {name: list(at) for name, at in sorted(answer.labels.items())}}


def _of_family(case: Case, evaluator: Any) -> Reply:
    """Reply about a formula or a query of the CEL family."""
    logic = case.options.get("logic", "so")
    stream = case.stream
    if case.kind == "count":
        return {"count": api.count(case.query, stream)}
    if case.kind == "valuations" and evaluator == "reference":
        found = api.valuations(case.query, stream, logic=logic)
        return {"valuations": list(map(answer_json, found))}
    answers = api.evaluate(case.query, stream, evaluator=evaluator, logic=logic)
    return {"answers": list(map(answer_json, answers))}


LANGUAGES: Mapping[str, Callable[[Case, Any], Reply]] = {
    "cel": _of_family,
    "ceql": _of_family,
}
"""The function of each language; its second argument is the evaluator."""
