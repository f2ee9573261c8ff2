"""When an event satisfies a predicate, by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import cerlab
from cerlab.logic.cel.syntax import Filter
from cerlab.logic.ceql.parser import parse_cel
from cerlab.model.event import event_from_dict
from cerlab.predicates.condition import On
from cerlab.predicates.truth import satisfies
from proofs_tests.clauses.tables import EVALUATORS, c

NAN, INF = float("nan"), float("inf")
BIG = 2**53


def holds(predicate: str, values: dict[str, Any]) -> bool:
    phi, _ = parse_cel(f"E FILTER E[{predicate}]")
    assert isinstance(phi, Filter)
    assert isinstance(phi.condition, On)
    return satisfies(event_from_dict({"type": "E", **values}), phi.condition.predicate)


CASES: list[tuple[str, dict[str, Any], bool]] = [
    ("a = 1", {"a": 1}, True),
    ("a == 1.0", {"a": 1}, True),
    ("a <> 1", {"a": 2}, True),
    ("a <= 1", {"a": 1}, True),
    ("a < 1", {"a": 1}, False),
    # nothing to compare: every comparison is false, != included; NOT is complement
    ("a = 1", {}, False),
    ("a != 1", {}, False),
    ("a != 1", {"a": None}, False),
    ("a != 1", {"a": NAN}, False),
    ("a = a", {"a": NAN}, False),
    ("NOT a = 1", {}, True),
    ("NOT a != 1", {"a": None}, True),
    # kinds that do not compare
    ("a != 1", {"a": "1"}, False),
    ("a = 1", {"a": True}, False),
    ("a != 1", {"a": True}, False),
    ("a = TRUE", {"a": True}, True),
    ("a = TRUE", {"a": 1}, False),
    ("a < TRUE", {"a": False}, True),
    ("a < b", {"a": "x", "b": 1}, False),
    # exact values beyond 2^53
    ("a = b", {"a": BIG + 1, "b": float(BIG)}, False),
    ("a > b", {"a": BIG + 1, "b": float(BIG)}, True),
    ("a = 9007199254740993", {"a": BIG + 1}, True),
    ("a = 9007199254740992.0", {"a": BIG + 1}, False),
    ("a < b", {"a": 10**18, "b": INF}, True),
    # text by code point
    ("a < 'b'", {"a": "B"}, True),
    ("a < 'é'", {"a": "z"}, True),
    ("a = ''", {"a": ""}, True),
    ("a = 'it''s'", {"a": "it's"}, True),
    # moments compare with moments only
    ("a < b", {"a": datetime(2020, 1, 1), "b": datetime(2021, 1, 1)}, True),
    (
        "a = b",
        {"a": datetime(2020, 1, 1), "b": datetime(2020, 1, 1, tzinfo=UTC)},
        True,
    ),
    ("a > 0", {"a": datetime(2020, 1, 1)}, False),
    # LIKE searches, in RE2 syntax
    ("a LIKE 'ell'", {"a": "hello"}, True),
    ("a LIKE '^ell'", {"a": "hello"}, False),
    ("a LIKE 'h.*o$'", {"a": "hello"}, True),
    ("a LIKE ''", {"a": "x"}, True),
    ("a LIKE '[[:digit:]]'", {"a": "x1"}, True),
    ("a LIKE '1'", {"a": 1}, False),
    ("NOT a LIKE '1'", {"a": None}, True),
    # IN and NOT IN are comparisons
    ("a IN {1, 2}", {"a": 2.0}, True),
    ("a IN {'x', 'y'}", {"a": "z"}, False),
    ("a NOT IN {1, 2}", {"a": 3}, True),
    ("a NOT IN {1, 2}", {}, False),
    ("a NOT IN {1, 2}", {"a": "x"}, False),
    ("NOT a IN {1, 2}", {}, True),
    ("a IN {1..3}", {"a": 3}, True),
    ("a IN {1..3}", {"a": 3.5}, False),
    ("a IN {2..}", {"a": 2}, True),
    ("a IN {..2}", {"a": 2}, True),
    ("a NOT IN {1..3}", {"a": 4}, True),
    ("a NOT IN {1..3}", {"a": 1}, False),
    ("a NOT IN {1..3}", {}, False),
    ("a IN {3..1}", {"a": 2}, False),
    ("a IN RANGE(b, b + 2)", {"a": 3, "b": 1}, True),
    ("a IN RANGE(b, b + 2)", {"a": 3}, False),
    # arithmetic
    ("a + 1 = 3", {"a": 2}, True),
    ("a + b * 2 = 7", {"a": 1, "b": 3}, True),
    ("(a + b) * 2 = 8", {"a": 1, "b": 3}, True),
    ("-a = -2", {"a": 2}, True),
    ("a / 2 = 1.5", {"a": 3}, True),
    ("7 % a = -2", {"a": -3}, True),
    ("-7 % a = 2", {"a": 3}, True),
    ("-7.5 % a = 1.5", {"a": 3}, True),
    ("a / b >= 0", {"a": 1, "b": 0}, False),
    ("a / b < 0", {"a": 1, "b": 0}, False),
    ("a % b = 0", {"a": 1, "b": 0}, False),
    ("NOT a / b >= 0", {"a": 1, "b": 0}, True),
    ("a + 1 > 0", {"a": 2**63 - 1}, False),
    ("a + 1 < 0", {"a": 2**63 - 1}, False),
    ("a * 10 - a * 10 = 0", {"a": 2**62}, False),  # overflow at any step
    ("a * 10.0 > 0", {"a": 1e308}, False),
    ("a + 1 > 0", {"a": "x"}, False),
    ("a + 1 > 0", {"a": True}, False),
    ("a + 1 > 0", {"a": INF}, True),
    ("a - a = 0", {"a": INF}, False),
    # connectives: NOT tighter than AND, AND than OR
    ("a = 1 OR a = 2 AND b = 1", {"a": 1, "b": 0}, True),
    ("NOT a = 1 AND b = 1", {"a": 2, "b": 0}, False),
    ("NOT (a = 1 AND b = 1)", {"a": 2, "b": 0}, True),
    # more of the same, at the edges
    ("a = a", {}, False),
    ("a != 'x'", {"a": 1}, False),
    ("NOT a = 'x'", {"a": 1}, True),
    ("a != TRUE", {"a": 1}, False),
    ("a != FALSE", {"a": True}, True),
    ("3 > a", {"a": 2}, True),
    ("a = 1E2", {"a": 100}, True),
    ("a = 0", {"a": -0.0}, True),
    ("a = 9007199254740993", {"a": float(BIG)}, False),
    ("a < 9007199254740993", {"a": float(BIG)}, True),
    ("a < 'ab'", {"a": "a"}, True),
    ("a < 'a'", {"a": "Z"}, True),
    ("a < '😀'", {"a": "～"}, True),  # U+FF5E before U+1F600; as UTF-16 it would come after
    ("a LIKE 'intc'", {"a": "INTC"}, False),
    ("a LIKE '(?i)intc'", {"a": "INTC"}, True),
    ("a LIKE 'C$'", {"a": "INTC\n"}, False),  # RE2: $ is the end, not before a last newline
    (r"a LIKE '^\d$'", {"a": "٣"}, False),  # RE2: \d is 0 to 9
    ("a IN {1, 2}", {"a": True}, False),
    ("a NOT IN {1, 2}", {"a": NAN}, False),
    ("a IN {-1..1}", {"a": 0}, True),
    ("a IN {1.5..2.5}", {"a": 2}, True),
    ("a IN {1..3}", {"a": NAN}, False),
    ("a IN {1..3}", {"a": "2"}, False),
    ("a IN {1..3}", {"a": True}, False),
    ("a NOT IN {1..3}", {"a": "2"}, False),
    ("a NOT IN {3..1}", {"a": 2}, True),
    ("a IN RANGE(1, 3)", {"a": 1}, True),
    ("a IN RANGE(1, 3)", {"a": 3.0}, True),
    ("a IN RANGE(1, 3)", {"a": 0.999}, False),
    ("a + 1 IN RANGE(1, 3)", {"a": 2}, True),
    ("NOT a IN RANGE(1, 3)", {}, True),
    ("a % 3 = 2", {"a": -1}, True),
    ("a % -3 = -1", {"a": 2}, True),
    ("a % 2.0 = 0.5", {"a": -1.5}, True),
    ("a / b = 2", {"a": 4, "b": 2}, True),
    ("a / 1 = a", {"a": BIG + 1}, False),  # the float nearest to 2^53 + 1 is 2^53
    ("a / b > 0", {"a": 1, "b": 0.0}, False),
    ("a % b = 0", {"a": 1.0, "b": 0.0}, False),
    ("NOT a % b = 0", {"a": 1, "b": 0}, True),
    ("a = -9223372036854775808", {"a": -(2**63)}, True),
    ("a - 1 < 0", {"a": -(2**63)}, False),
    ("a * -1 > 0", {"a": -(2**63)}, False),
    ("a / -1 > 0", {"a": -(2**63)}, True),  # a float, and 2^63 is one
    ("a % -1 = 0", {"a": -(2**63)}, True),  # 0 is in range, whatever the quotient
    ("a + 1 - 1 = a", {"a": 2**63 - 1}, False),
    ("a + 1 = 2", {"a": "1"}, False),
    ("a * 0 = 0", {"a": NAN}, False),
    ("NOT NOT a = 1", {}, False),
    ("NOT (a = 1 AND b = 1)", {"a": 1}, True),
    ("NOT (a = 1 OR b = 1)", {"a": 0}, True),
    ("NOT (a > 3) AND a <= 3", {}, False),  # both would be the same of a number
    # the type is an attribute
    ("type = 'E'", {}, True),
]


@pytest.mark.parametrize(("predicate", "values", "expected"), CASES)
def test_predicate(predicate: str, values: dict[str, Any], expected: bool) -> None:
    assert holds(predicate, values) is expected


@pytest.mark.parametrize(("predicate", "values", "expected"), CASES)
def test_every_evaluator_decides_it_so(
    predicate: str, values: dict[str, Any], expected: bool
) -> None:
    events = [{"type": "E", **values}]
    for evaluator in EVALUATORS:
        answers = cerlab.evaluate(f"E FILTER E[{predicate}]", events, evaluator=evaluator)  # type: ignore[arg-type]  # literals
        assert answers == ([c(0, 0, 0)] if expected else []), evaluator
