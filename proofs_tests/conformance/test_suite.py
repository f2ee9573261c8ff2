"""The conformance suite: its files, its judge, and every way from a case to its answers."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

import cerlab
from cerlab import conformance
from cerlab.conformance import FOLDER, Case, Group, groups
from cerlab.conformance.judge import difference
from cerlab.conformance.replies import answer_json
from cerlab.conformance.values import decode, encode
from proofs_tests.conformance.ways import (
    TABLE,
    counts_of,
    head,
    line_of,
    needs_of,
    replies_in_table,
)

LINES = TABLE.read_text().splitlines()


def test_there_are_hundreds_of_cases_with_names_of_their_groups() -> None:
    ids = [case.id for group in groups() for case in group.cases]
    assert len(ids) == len(set(ids)) > 450
    assert all(case.id.startswith(f"{g.name}/") for g in groups() for case in g.cases)


@pytest.mark.parametrize("group", groups(), ids=lambda group: group.name)
def test_a_file_fits_the_schema(group: Group) -> None:
    schema = json.loads((FOLDER.parent / "schema.json").read_text())
    jsonschema.validate(json.loads((FOLDER / f"{group.name}.json").read_text()), schema)


@pytest.mark.parametrize("group", groups(), ids=lambda group: group.name)
def test_every_way_that_supports_a_case_answers_it(group: Group) -> None:
    """The table says how many cases each way supports; it is written by `ways`."""
    assert line_of(group, counts_of(group)) in LINES


def test_the_table_has_a_line_for_each_group() -> None:
    assert [LINES[0], len(LINES)] == [head(), len(groups()) + 1]


def test_the_reference_and_the_automatic_choice_support_every_case() -> None:
    columns = LINES[0].split()
    for line in LINES[1:]:
        row = dict(zip(columns, line.split(), strict=True))
        assert row["cases"] == row["reference"] == row["auto"], line


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@pytest.mark.parametrize("group", groups(), ids=lambda group: group.name)
def test_a_case_names_the_features_that_it_needs(group: Group) -> None:
    assert {case.id: case.needs for case in group.cases} == {
        case.id: needs_of(case) for case in group.cases
    }


def case_of(kind: str, expected: Any, in_order: bool = False) -> Case:
    return Case("group/case", "ceql", "", (), {}, {}, (), kind, expected, in_order)


A, B = {"start": 0, "end": 1, "positions": [0, 1]}, {"start": 0, "end": 2, "positions": [0, 2]}
LATER = {"start": 0, "end": 2, "positions": [0, 1]}
X = {"start": 0, "end": 1, "labels": {"A": [0], "x": [1]}}
NO_INTERVAL = [{"positions": [0, 1]}, {"positions": [0, 2]}]
ROWS: dict[str, Any] = {"columns": ["n", "x"], "values": [[1, {"double": "1.0"}], [2, None]]}
SYNTAX = {"kind": "QuerySyntaxError", "code": "CER0101"}

JUDGED = [
    ("answers", [A, B], {"answers": [B, A]}, ""),
    ("answers", [A, B], {"answers": NO_INTERVAL}, ""),
    ("answers", [A, B], {"answers": [A]}, f"missing: {json.dumps(B)}"),
    ("answers", [A], {"answers": [A, B]}, f"wrong: {json.dumps(B)}"),
    ("answers", [A], {"answers": [A, A]}, f"more than once: {json.dumps(A)}"),
    ("answers", [A, B], {"answers": NO_INTERVAL * 2}, "more than once: [0, 1]"),
    ("answers", [A, LATER], {"answers": NO_INTERVAL[:1]}, ""),
    ("answers", [A, LATER], {"answers": NO_INTERVAL[:1] * 2}, ""),
    ("answers", [A, LATER], {"answers": NO_INTERVAL[:1] * 3}, "more than once: [0, 1]"),
    ("answers", [A], {"answers": 1}, "not answers: 1"),
    ("answers", [A], {"answers": [1]}, f"missing: {json.dumps(A)}"),
    ("answers", [], {"count": 0}, 'no answers: {"count": 0}'),
    ("answers", [], {"refused": "no"}, "refused: no"),
    ("valuations", [X], {"valuations": [X]}, ""),
    ("valuations", [X], {"valuations": [{**X, "labels": {"A": [0], "x": [1], "y": []}}]}, ""),
    ("valuations", [X], {"answers": [A]}, ""),
    ("valuations", [X], {"answers": []}, f"missing: {json.dumps(A)}"),
    ("valuations", [X], {"valuations": [{**X, "labels": {"A": [0]}}]}, f"missing: {json.dumps(X)}"),
    ("matches", [[0, 1], []], {"matches": [[], [0, 1]]}, ""),
    ("matches", [[0, 1]], {"matches": [[0, 1], []]}, "wrong: []"),
    ("tuples", [[1, "a"]], {"tuples": [[{"double": "1.0"}, "a"]]}, ""),
    ("tuples", [[1]], {"tuples": [[True]]}, "missing: [1]"),
    ("groups", [{"a": [0], "b": [1]}], {"groups": [{"b": [1], "a": [0]}]}, ""),
    ("rows", ROWS, {"rows": {**ROWS, "values": [[1, 1], [2, None]]}}, ""),
    ("rows", ROWS, {"rows": {**ROWS, "values": [[2, None], [1, 1]]}}, "row 0: [2, null], not"),
    ("rows", ROWS, {"rows": {**ROWS, "values": ROWS["values"][:1]}}, "1 rows, not 2"),
    ("rows", ROWS, {"rows": {**ROWS, "columns": ["x", "n"]}}, "columns: ['x', 'n'], not"),
    ("count", 2, {"count": 2}, ""),
    ("count", 2, {"answers": [A, B]}, ""),
    ("count", 2, {"count": 3}, "count: 3, not 2"),
    ("count", {"int": str(2**64)}, {"count": {"int": str(2**64)}}, ""),
    ("count", {"int": str(2**64)}, {"count": {"int": str(2**64 - 1)}}, "count: "),
    ("error", SYNTAX, {"refused": "", **SYNTAX}, ""),
    ("error", SYNTAX, {"refused": "", **SYNTAX, "code": "CER0102"}, "refused otherwise"),
    ("error", SYNTAX, {"answers": []}, "not refused"),
    ("error", {**SYNTAX, "at": "A"}, {"refused": "", **SYNTAX, "at": "A.x"}, ""),
    ("error", {**SYNTAX, "at": "A"}, {"refused": "", **SYNTAX, "at": "B"}, "refused otherwise"),
    ("error", {**SYNTAX, "at": 2}, {"refused": "", **SYNTAX, "at": 2}, ""),
    ("error", {**SYNTAX, "at": 2}, {"refused": "", **SYNTAX, "at": 1}, "refused otherwise"),
    ("error", {**SYNTAX, "at": 2}, {"refused": "", **SYNTAX}, "refused otherwise"),
    ("warnings", ["CER0901"], {"answers": [], "warnings": ["CER0901"]}, ""),
    ("warnings", ["CER0901"], {"answers": [], "warnings": ["CER0901", "CER0910"]}, "warnings: "),
    ("warnings", [], {"answers": [], "warnings": ["CER0910"]}, "warnings: "),
    ("verdict", {"holds": True}, {"verdict": {"holds": True}}, ""),
    ("verdict", {"holds": None}, {"verdict": {"holds": True}}, "verdict: "),
    (
        "why",
        {"holds": False, "kind": "type"},
        {"why": {"holds": False, "kind": "type", "at": 1}},
        "",
    ),
    ("why", {"holds": False, "kind": "type"}, {"why": {"holds": False}}, "why: "),
]


@pytest.mark.parametrize(("kind", "expected", "reply", "how"), JUDGED)
def test_the_judge_sees_each_kind_of_difference(
    kind: str, expected: Any, reply: dict[str, Any], how: str
) -> None:
    said = difference(case_of(kind, expected), reply, codes=True)
    assert said.startswith(how), said
    assert bool(said) is bool(how)


def test_the_judge_takes_any_refusal_of_another_engine_for_an_error() -> None:
    assert difference(case_of("error", SYNTAX), {"refused": "no"}) == ""


def test_the_judge_compares_the_order_of_ends_where_it_is_asked() -> None:
    case = case_of("answers", [A, B], in_order=True)
    assert difference(case, {"answers": [A, B]}) == ""
    assert difference(case, {"answers": [B, A]}) == "not in order of ends"


@pytest.mark.parametrize("group", groups(), ids=lambda group: group.name)
def test_the_expected_answers_of_a_case_are_right_by_the_judge(group: Group) -> None:
    for case in group.cases:
        if case.kind in ("answers", "valuations"):
            assert difference(case, {"answers": list(map(answer_json, case.answers))}) == ""


VALUES = [
    *(None, True, 0, -(2**53), 2**53 + 1, -(2**70), 0.5, 1.0, -0.0, 1e300, float("inf"), "", "ü"),
    *(
        float("nan"),
        cerlab.Timestamp(1),
        cerlab.Timestamp(-(10**18)),
        cerlab.Duration(-1),
        [1, [2.0]],
    ),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_read_as_it_was_written(value: Any) -> None:
    again = decode(json.loads(json.dumps(encode(value), allow_nan=False)))
    assert repr(again) == repr(value), "by text: NaN is not equal to itself"


@pytest.mark.parametrize(
    "text",
    [{}, {"int": 1}, {"int": "1.0"}, {"double": "x"}, {"moment": "soon"}, {"int": "1", "x": 1}],
)
def test_json_that_denotes_no_value_is_refused(text: Any) -> None:
    with pytest.raises(cerlab.BadData, match="does not denote a value"):
        decode(text)


def test_the_change_list_names_the_version_the_digest_of_the_cases_and_how_many_replies() -> None:
    """A changed case, or a way that supports fewer, turns this red until an entry says why."""
    text = (FOLDER.parent / "CHANGES.md").read_text()
    newest = text.split("\n## ")[1].partition("\n")[0]
    known = f"{conformance.VERSION}, {conformance.digest()}, {replies_in_table():,} replies"
    assert newest == known
