"""Repairs, texts and trees of `why` for SREMO; the suite has what stands in the way."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import cerlab
from cerlab import Why, display, parse_sremo
from cerlab.logic.sremo import matches
from cerlab.logic.sremo.syntax import Terminal
from cerlab.model.answer import Positions
from cerlab.viz import NodeKind, graph_of, svg
from cerlab.why import Derivation, Repair, deduction, why, why_to_json
from cerlab.why.candidates import regions
from cerlab.why.failure import Alter, Drop, Give, Insert, Reach, Relax, Remark, Remove, Retype
from cerlab.why.question import SremoQuestion
from proofs_tests.clauses.tables import word
from proofs_tests.sremo.tables import sre


def explain(text: str, types: str, positions: Positions, **values: str) -> Why:
    return why(sre(text), word(types, **values), positions)


def terminal(text: str) -> Terminal:
    e = sre(text)
    assert isinstance(e, Terminal)
    return e


REPAIRS: list[tuple[str, str, Positions, tuple[Repair, ...]]] = [
    ("A^ . B^", "AC", (0, 1), (Retype(1, "B"), Alter(1), Relax((1,), sre("_^")))),
    ("A^ . B^", "ACB", (0, 2), (Relax((), sre("A^ . _* . B^")), Remove((1,)))),
    ("(A^)+", "ACA", (0, 2), (Relax((), sre("#((A^)+)")), Remove((1,)))),
    ("A^ . B . C^", "ABC", (0, 1, 2), (Drop(1), Remark((0, 1), terminal("B^")))),
    ("A^ . B^ . C^", "ABC", (0, 2), (Give(1), Remark((0, 1), terminal("B")))),
    ("A^ . B . C^", "AC", (0, 1), (Insert((0, 1), 0, 1), Relax((0, 1), sre("B?")))),
    ("(A^ . _* . B^)[1..2]", "ACB", (0, 2), (Relax((), sre("(A^ . _* . B^)[1..3]")),)),
    ("A^ . !C . B^", "ACB", (0, 2), (Relax((0, 1), sre("_*")), Alter(1))),
    ("@(A^, B^)", "ABB", (0, 2), (Relax((), sre("#(A^, B^)")), Alter(1), Remove((1,)))),
    ("A^ . EMPTY", "A", (0,), (Relax((1,), sre("EPS")),)),
    (  # one mark more mends all rounds, and not D in the place of two of them
        "A^ . (B* | D^ . D^ . B^) . C^",
        "ABBBC",
        (0, 1, 2, 3, 4),
        (Remark((0, 1, 0, 0), terminal("B^")),),
    ),
]


@pytest.mark.parametrize(("text", "types", "positions", "repairs"), REPAIRS)
def test_repairs_are_data(
    text: str, types: str, positions: Positions, repairs: tuple[Repair, ...]
) -> None:
    own_repairs = explain(text, types, positions).repairs
    assert own_repairs == repairs
    assert [getattr(r, "into", None) for r in own_repairs] == [
        getattr(r, "into", None) for r in repairs
    ]


def test_an_event_in_a_register_may_be_altered_instead() -> None:
    explanation = explain("A^ -> r . <v > r.v>^", "AB", (0, 1), v="21")
    assert explanation.repairs == (Alter(1), Alter(0), Relax((1,), sre("_^")))
    empty = explain("A^ . <v > r.v>^", "AB", (0, 1), v="21")
    assert empty.repairs == (Relax((1,), sre("_^")),)
    for values, alterations in ((".1", (Alter(0),)), ("1.", (Alter(1),)), ("..", ())):
        failure = explain("A^ -> r . <v > r.v>^", "AB", (0, 1), v=values).failure
        assert failure is not None
        assert failure.repairs == (*alterations, Relax((1,), sre("_^")))


def test_what_mends_one_round_may_not_mend_another() -> None:
    """The guard is weakened for both; a mark that is wrong for one event only stays."""
    explanation = explain("(<type = 'A' AND v = 1>^)+", "AB", (0, 1), v="21")
    assert [str(failure) for failure in explanation.failures] == [
        "event 0 fails v = 1: v is 2",
        "event 1 fails type = 'A': type is 'B'",
    ]
    (relax,) = explanation.repairs
    assert isinstance(relax, Relax)
    assert relax.into == sre("_^")
    (failure,) = explain("A^ . B+ . C^", "ABBC", (0, 1, 3)).failures
    assert failure.repairs == (Drop(1),)


def test_the_text_of_a_match() -> None:
    text = "(A^ -> r . _* . <type = 'B' AND v > r.v>^)[1..4]"
    assert str(explain(text, "ACB", (0, 2), v="102")).splitlines() == [
        "a match: {0, 2} in [0, 2]",
        "[1..4] [0, 2]  ^ {0, 2}  r = 0",
        "└─ . [0, 2]  ^ {0, 2}  r = 0",
        "   ├─ <type = 'A'>^ -> r 0: A(v=1)",
        "   ├─ <TRUE>* [1, 1]  r = 0",
        "   └─ <type = 'B' AND v > r.v>^ 2: B(v=2)",
    ]


def test_the_text_of_a_failure_marks_where() -> None:
    assert str(explain("A^ . !C . B^", "ACB", (0, 2))).splitlines() == [
        "no match: {0, 2}",
        "  !<type = 'C'> fails: <type = 'C'> takes event 1",
        "searched from 0 to 2; the nearest attempt:",
        ". [0, 2]  ^ {0, 2}",
        "├─ <type = 'A'>^ 0: A()",
        "├─ !<type = 'C'> [1, 1] ✗",
        "└─ <type = 'B'>^ 2: B()",
    ]


def test_a_derivation_as_json() -> None:
    document = why_to_json(explain("A^ -> r . B . <v = r.v>^", "ABB", (0, 2), v="111"))
    assert document["derivation"] == {
        "part": "<type = 'A'>^ -> r . <type = 'B'> . <v = r.v>^",
        "path": [],
        "start": 0,
        "end": 2,
        "marks": [0, 2],
        "registers": {"r": 0},
        "children": document["derivation"]["children"],
    }
    assert [child["path"] for child in document["derivation"]["children"]] == [[0, 0], [0, 1], [1]]
    _, nothing = why_to_json(explain("A^ . B*", "A", (0,)))["derivation"]["children"]
    assert (nothing["start"], nothing["end"]) == (None, None)
    (failure,) = why_to_json(explain("A^ . B", "AB", (0, 1)))["failures"]
    assert failure["repairs"] == [{"do": "remark", "path": [1], "into": "<type = 'B'>^"}]


def test_the_interval_is_from_the_first_mark_to_the_last() -> None:
    explanation = why(sre("_ . A^ . _ . B^"), word("CACB"), (1, 3), 0, 3)
    assert explanation.repairs == (Reach(1, 3),)


@pytest.mark.long
def test_what_begins_unmarked_is_looked_for_far_before() -> None:
    far = word("A" + "C" * 500 + "B")
    assert why(sre("A . _* . B^"), far, (501,)).holds
    assert not why(sre("A . _* . B^"), far[1:], (500,)).holds


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("A^ . B", False),
        ("A . B^", True),
        ("!A . B^", True),
        ("EPS . A . B^", True),
        ("(A^)* . B . C^", True),
        ("(A^)? . B . C^", True),
        ("(A^)+ . B . C^", False),
        ("(A^ | EPS) . B . C^", True),
        ("(A^ | B^) . C . D^", False),
        ("((A^)* . (B^)*) . C . D^", True),
        ("((A^)* . B^) . C . D^", False),
        ("(A^ & B) . C^", False),
        ("#(A^, B^)", False),
        ("@((A^)?, B^)", True),
    ],
)
def test_before_the_first_mark_only_what_may_begin_unmarked_is_looked_for(
    text: str, before: bool
) -> None:
    question = SremoQuestion(sre(text), cerlab.Stream.from_events(word("AAAA")), (3,))
    assert list(regions(question)) == [(0 if before else 3, 3)]


def test_long_gaps_are_one_node() -> None:
    events = word("A" + "C" * 5_000 + "B")
    for text in ("A^ . _* . B^", "#(A^, B^)", "@(A^, B^)", "A^ . !(B . _*) . B^"):
        derivation = asked_on(text, events, (0, 5_001)).derivation
        assert derivation is not None
        assert sum(1 for _ in derivation) <= 4
    failure = asked_on("A^ . B^", events, (0, 5_001)).failure
    assert str(failure) == "gap of 5000 events at '.', between 0 and 5001"


def asked_on(text: str, events: list[dict[str, object]], positions: Positions) -> Why:
    return why(sre(text), events, positions)


def test_a_search_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deduction, "MAX_STEPS", 2_000)
    with pytest.raises(cerlab.ResourceLimit) as error:
        why(sre("(_* . A . _*)* . D . B^"), word("A" * 300 + "B"), (300,))
    assert error.value.code == "CER0605"


def test_positions_far_from_any_match() -> None:
    """Search for the nearest reading ends even where much is missing."""
    text = "_^ . (" * 40 + "_^" + ")" * 40
    explanation = explain(text, "AB", (0, 1))
    assert (explanation.holds, explanation.derivation) == (False, None)
    assert why_to_json(explanation)["derivation"] is None
    assert set(display.mimebundle(explanation)) == {"text/plain", "text/html"}


def test_texts_and_values() -> None:
    events = word("AB")
    text = "<type = 'A'>^ . <type = 'B'>^"
    assert why(text, events, (0, 1)).holds
    assert why(parse_sremo(text), cerlab.Stream.from_events(events), [1, 0]).holds
    assert matches(parse_sremo(text), cerlab.Stream.from_events(events).events) == {(0, 1)}


def test_pictures() -> None:
    explanation = explain("A^ -> r . B^ . <v = r.v>^", "ABC", (0, 1, 2), v="112")
    assert isinstance(explanation.derivation, Derivation)
    graph = graph_of(explanation.derivation)
    assert graph.title == "Derivation of 4 nodes: not a match"
    assert graph.legend == ("event 2 fails v = r.v: v is 2, r is event 0 with v 1",)
    assert [node.under for node in graph.nodes][:2] == [
        "[0, 2]\n^ {0, 1, 2}\nr = 0",
        "[0, 0]\n^ {0}\nr = 0",
    ]
    labels = [node.label for node in graph.nodes if node.kind is NodeKind.FAILED]
    assert [label.removesuffix(" ✗") for label in labels] == ["<v = r.v>^"]
    ElementTree.fromstring(svg(graph))
    for value in (explanation, explanation.derivation):
        assert set(display.mimebundle(value)) == {"text/plain", "text/html", "image/svg+xml"}
