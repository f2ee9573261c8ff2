"""What is wrong in a machine as HOA-like text, and where."""

from __future__ import annotations

import pytest

from cerlab.errors import (
    BadData,
    CerlabError,
    IllFormed,
    QuerySyntaxError,
    ResourceLimit,
    SourcePlace,
)
from cerlab.io.machine_hoa import machine_from_hoa
from proofs_tests.io.machine_cases import (
    HOA,
)

NOT_HOA: list[tuple[str, str, type[CerlabError], str, int, int, str]] = [
    # old text, new text, class, code, line, column, words
    (": v1", ": v2", BadData, "CER0754", 1, 9, "version 'v2'"),
    ("CERLAB:", "HOA:", QuerySyntaxError, "CER0131", 1, 1, "'HOA'"),
    ("kind: vcea\n", "", BadData, "CER0752", 1, 9, "'kind' is missing"),
    ("States: 3\n", "", BadData, "CER0752", 1, 9, "'states' is missing"),
    (": vcea", ": vce", BadData, "CER0753", 2, 7, "no kind"),
    ("States: 3", "States: 3\nStates: 3", BadData, "CER0732", 4, 9, "stands twice"),
    ("States: 3", "States: 1000001", ResourceLimit, "CER0662", 3, 9, "1,000,000 states"),
    ("States: 3", "States: -3", QuerySyntaxError, "CER0131", 3, 9, "'-'"),
    ("States: 3", "States: 99999999999", QuerySyntaxError, "CER0131", 3, 9, "99999"),
    ("Start: 0", "Start: 3", BadData, "CER0756", 4, 8, "state 3 is not in Q"),
    ("Start: 0", "Start: 0\nStart: 0", BadData, "CER0732", 5, 8, "0 stands twice"),
    (": vcea\nStates: 3\nStart: 0", ": cea\nStates: 3", BadData, "CER0757", 10, 12, "a cea has"),
    ("AP: 1", "AP: 2", BadData, "CER0757", 6, 5, "the next proposition is 1"),
    (" v >= 0.5", "", QuerySyntaxError, "CER0131", 8, 6, "unexpected"),
    ("v >= 0.5", "v >=> 0.5", QuerySyntaxError, "CER0101", 8, 11, "unexpected '>'"),
    ("v >= 0.5", "v >= ", QuerySyntaxError, "CER0101", 8, 12, "ends too early"),
    ("v >= 0.5", "v >= 1 AND v < 2", BadData, "CER0757", 8, 7, "no atomic proposition"),
    ("v >= 0.5", "v = 1] FILTER A[v = 1", BadData, "CER0757", 8, 7, "no atomic proposition"),
    ("v >= 0.5", "v LIKE '('", IllFormed, "CER0205", 8, 14, "RE2"),
    ("v >= 0.5", '{"kind": "everything"}', BadData, "CER0757", 8, 7, "no atomic proposition"),
    ("v >= 0.5", '{"kind": "type", "type": 1}', BadData, "CER0751", 8, 7, "a text, found an int"),
    ("v >= 0.5", '{"kind": "type" "type"}', BadData, "CER0750", 8, 23, "no JSON"),
    ("State: 2", "State: 3", BadData, "CER0756", 15, 8, "state 3"),
    ("State: 2 {0}", "State: 3", BadData, "CER0756", 15, 8, "state 3"),
    ("{0}", "{1}", QuerySyntaxError, "CER0131", 15, 10, "unexpected '{'"),
    ("[0]", "[4]", BadData, "CER0753", 11, 2, "no proposition 4"),
    ("[0]", "[]", QuerySyntaxError, "CER0131", 11, 2, "unexpected ']'"),
    ("[0]", "[(0]", QuerySyntaxError, "CER0131", 11, 4, "unexpected ']'"),
    ("[0]", "[0 1]", QuerySyntaxError, "CER0131", 11, 4, "unexpected '1'"),
    ("[t]", "[f]", QuerySyntaxError, "CER0131", 13, 2, "'f'"),
    ("{x, y}", "{x, x}", BadData, "CER0732", 11, 9, "'x' stands twice"),
    ("{x, y}", "{x,}", QuerySyntaxError, "CER0131", 11, 8, "unexpected '}'"),
    ("{x, y}", "take", BadData, "CER0757", 11, 10, "labels in braces"),
    ('"two words"', r'"\ud800"', BadData, "CER0704", 14, 17, "not Unicode"),
    ('"two words"', r'"\q"', BadData, "CER0750", 14, 18, "no JSON"),
    ('words"} 2', 'words"} 3', BadData, "CER0756", 14, 30, "state 3 is not in Q"),
    ("--END--\n", "", QuerySyntaxError, "CER0131", 16, 1, "ends too early"),
    ("--END--\n", "--END--\nState: 0\n", QuerySyntaxError, "CER0131", 17, 1, "State"),
]


@pytest.mark.parametrize(
    ("old", "new", "kind", "code", "line", "column", "words"),
    NOT_HOA,
    ids=[f"{case[0].strip()} to {case[1].strip()}" for case in NOT_HOA],
)
def test_what_is_wrong_in_a_hoa_text(
    old: str, new: str, kind: type[CerlabError], code: str, line: int, column: int, words: str
) -> None:
    assert old in HOA
    with pytest.raises(CerlabError) as caught:
        machine_from_hoa(HOA.replace(old, new, 1))
    error = caught.value
    assert (type(error), error.code) == (kind, code)
    assert words in error.message
    assert isinstance(error.place, SourcePlace)
    assert (error.place.span.line, error.place.span.column) == (line, column)
    if isinstance(error, QuerySyntaxError):
        assert (error.line, error.column) == (line, column)
        assert error.expected
        assert error.caret in str(error)


def test_a_hoa_cea_that_enters_its_initial_state() -> None:
    text = "CERLAB: v1\nkind: cea\nStates: 1\nStart: 0\n--BODY--\nState: 0\n[t] skip 0\n--END--\n"
    with pytest.raises(IllFormed, match="CER0221") as caught:
        machine_from_hoa(text)
    assert isinstance(caught.value.place, SourcePlace)
    assert caught.value.place.describe() == "line 7, column 10"
    with pytest.raises(BadData, match="CER0756"):
        machine_from_hoa(text.replace("Start: 0\n", ""))
