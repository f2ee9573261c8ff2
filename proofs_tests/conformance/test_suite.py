"""The conformance suite: its files, its judge, and every way from a case to its answers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

import cerlab
from cerlab import conformance
from cerlab.conformance import FOLDER, Group, cases, difference, groups
from cerlab.conformance.values import decode, encode
from proofs_tests.conformance.ways import TABLE, counts_of, head, line_of

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


def test_the_judge_sees_each_kind_of_difference() -> None:
    case = next(case for case in cases("within") if len(case.answers) > 1)
    first, *rest = case.answers
    assert difference(case, list(case.answers)) == ""
    assert difference(case, rest) == f"missing: {first}"
    assert difference(case, [first, *case.answers]) == f"more than once: {first}"
    other = cerlab.ComplexEvent(first.start, first.end, ())
    assert difference(case, [*case.answers, other]) == f"wrong: {other}"
    last, *before = reversed(case.answers)
    assert last.end > before[-1].end
    assert difference(replace(case, in_order=True), [last, *before]) == "not in order of ends"


def test_the_judge_compares_labels_where_they_are_given() -> None:
    case = next(case for case in cases("as") if case.kind == "valuations" and case.expected)
    first: Any = case.expected[0]
    unlabelled = cerlab.Valuation(first.start, first.end, {})
    assert difference(case, list(case.answers)) == ""
    assert difference(case, [unlabelled, *case.expected[1:]]) == f"missing: {first}"


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
    with pytest.raises(cerlab.BadData, match="denotes no value"):
        decode(text)


def test_the_change_list_names_the_version_and_the_digest_of_the_cases() -> None:
    """A changed case turns this red until an entry gives the reason."""
    text = (FOLDER.parent / "CHANGES.md").read_text()
    newest = text.split("\n## ")[1]
    assert newest.startswith(f"{conformance.VERSION}, {conformance.digest()}\n")
