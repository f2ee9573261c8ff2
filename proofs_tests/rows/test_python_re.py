"""Preferment as in Python's `re`: the match at a row ends where `re` ends.

Where a condition looks at its row only, a row is a letter (the set of variables that hold there)
and a variable a class of letters. `re` has ``^`` in another meaning, so it is left out.
"""

from __future__ import annotations

import re
from itertools import combinations
from random import Random

from cerlab import match_recognize
from cerlab.rows import syntax as rp
from cerlab.rows.recognise import RowEvaluator
from cerlab.testing.rows import VARIABLES, random_row_regex
from proofs_tests.rows.tables import EVALUATORS, letters
from proofs_tests.suite import random_suite

SETS = [frozenset(s) for k in range(4) for s in combinations(VARIABLES, k)]
LETTER = dict(zip(SETS, "stuvwxyz", strict=True))


def expression_of(p: rp.Pattern) -> str:
    """The pattern as `re` writes it."""
    match p:
        case rp.Variable(v):
            return f"[{''.join(LETTER[s] for s in SETS if v in s)}]"
        case rp.PartitionEnd():
            return r"\Z"
        case rp.Concat(parts):
            return "".join(f"(?:{expression_of(part)})" for part in parts)
        case rp.Alternation(parts):
            return "|".join(f"(?:{expression_of(part)})" for part in parts)
        case rp.Permute():
            return expression_of(rp.expand_permute(p))
        case rp.Repetition(body, lo, hi, reluctant):
            bounds = f"{{{lo},{'' if hi is None else hi}}}"
            return f"(?:{expression_of(body)}){bounds}{'?' * reluctant}"
        case _:
            return ""


def test_letters_are_what_they_say() -> None:
    assert letters("ab .~c")[1] == {"i": 1, "a": False, "b": False, "c": None, "d": False}


@random_suite(6_000)
def test_the_match_at_each_row_ends_where_that_of_re_ends(rng: Random) -> bool:
    pattern = random_row_regex(rng, 3, excluding=False)
    while any(isinstance(p, rp.PartitionStart) for p in rp.subpatterns(pattern)):
        pattern = random_row_regex(rng, 3, excluding=False)
    word = [rng.choice(SETS) for _ in range(rng.randrange(1, 6))]
    text = "".join(LETTER[s] for s in word)
    expression = re.compile(expression_of(pattern))
    expected = {
        i: match.end() - i
        for i in range(len(word))
        if (match := expression.match(text, i)) is not None
    }
    for evaluator in EVALUATORS:
        assert lengths(pattern, word, evaluator) == expected, f"{pattern} on {text}"
    return bool(expected)


def lengths(
    pattern: rp.Pattern, word: list[frozenset[str]], evaluator: RowEvaluator
) -> dict[int, int]:
    """Return the number of rows of the match at each row, where one exists."""
    table = letters(" ".join("".join(sorted(s)).lower() or "." for s in word))
    names = [v for v in VARIABLES if v in rp.variables(pattern)]
    define = ", ".join(f"{v} AS {v}.{v.lower()}" for v in names)
    query = f"""MATCH_RECOGNIZE (ORDER BY i MEASURES COUNT(*) AS n, MATCH_NUMBER() AS m
        ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN ({pattern})
        {"DEFINE " * bool(names)}{define})"""
    matches: dict[int, tuple[int, int]] = {}
    for row in match_recognize(query, table, evaluator=evaluator).to_pylist():
        begin, _ = matches.get(row["m"], (row["i"], 0))
        matches[row["m"]] = (begin, row["n"])
    return dict(matches.values())
