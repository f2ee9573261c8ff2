"""Patterns and preferment, by hand: every rule of derivations and its decisions.

A row has the letters that stand in it; A holds where an ``a`` stands, and so on.
"""

from __future__ import annotations

import pytest

from cerlab.rows.recognise import RowEvaluator
from proofs_tests.rows.tables import EVALUATORS, pattern_case, scan_of

GRAMMAR = [
    pattern_case("A B | C", "a c", "1:C", id="4.1-concatenation-binds-tighter-than-alternation"),
    pattern_case("A (B | C)", "a c", "0:AC", id="4.1-parentheses"),
    pattern_case("A B*", "a b a b", "0:AB 2:AB", id="4.1-quantifiers-bind-tighter"),
    pattern_case("(A B)*", "a b a b", "0:ABAB", id="4.1-quantifier-of-a-group"),
    pattern_case("()", "a b", "0: 1:", id="4.1-the-empty-pattern"),
    pattern_case("(())", "a", "0:", id="4.1-the-empty-pattern-in-parentheses"),
    pattern_case("() A", "a", "0:A", id="4.1-empty-in-a-sequence"),
    pattern_case("A* B", "a a b", "0:AAB", id="4.2-star"),
    pattern_case("A* B", "b", "0:B", id="4.2-star-none"),
    pattern_case("A+ B", "b a b", "1:AB", id="4.2-plus-needs-one"),
    pattern_case("A? B", "a a b", "1:AB", id="4.2-option-takes-one-at-most"),
    pattern_case("A{2}", "a a a", "0:AA", id="4.2-exactly"),
    pattern_case("A{2,}", "a a a", "0:AAA", id="4.2-at-least"),
    pattern_case("A{2,}", "a", "", id="4.2-at-least-not-reached"),
    pattern_case("A{,2}", "a a a", "0:AA 2:A", id="4.2-at-most"),
    pattern_case("A{,2}", "b", "0:", id="4.2-at-most-may-be-none"),
    pattern_case("A{2,3}", "a a a a", "0:AAA", id="4.2-from-to"),
    pattern_case("A{,}", "a a", "0:AA", id="4.2-no-bounds"),
    pattern_case("A*?", "a", "0:", id="4.2-reluctant-star"),
    pattern_case("A+?", "a a", "0:A 1:A", id="4.2-reluctant-plus"),
    pattern_case("A??", "a", "0:", id="4.2-reluctant-option"),
    pattern_case("A{2,3}?", "a a a", "0:AA", id="4.2-reluctant-from-to"),
    pattern_case("A{2}?", "a a a", "0:AA", id="4.2-reluctant-exactly-is-exactly"),
    pattern_case("(A{2}){2}", "a a a a a", "0:AAAA", id="4.2-a-quantifier-of-a-quantifier"),
    pattern_case("PERMUTE(A, B)", "b a", "0:BA", id="4.3-any-order"),
    pattern_case("PERMUTE(A, B)", "ab ab", "0:AB", id="4.3-the-first-order-is-preferred"),
    pattern_case("PERMUTE(A, B, C)", "abc abc abc", "0:ABC", id="4.3-of-three"),
    pattern_case("PERMUTE(A, B, C)", "ac b ac", "0:ABC", id="4.3-lexicographically-first"),
    pattern_case("PERMUTE(A, B, C)", "bc a bc", "0:BAC", id="4.3-b-before-c"),
    pattern_case("PERMUTE(A, A)", "a a", "0:AA", id="4.3-repeated-parts"),
    pattern_case("PERMUTE(A)", "a", "0:A", id="4.3-of-one"),
    pattern_case("PERMUTE(A B, C)", "c a b", "0:CAB", id="4.3-parts-are-patterns"),
    pattern_case("PERMUTE(A?, B)", "b", "0:B", id="4.3-parts-may-be-empty"),
    pattern_case("PERMUTE", "a a", "0:PERMUTE 1:PERMUTE", id="4.4-without-parenthesis-a-variable"),
]
DERIVATIONS = [
    pattern_case("A", ". a", "1:A", id="5.2a-the-condition-holds"),
    pattern_case("A", "~a", "", id="5.2a-null-is-no-match"),
    pattern_case("A A", "a", "", id="5.2a-no-row-after-the-last"),
    pattern_case("^ A", "a a", "0:A", id="5.2b-start"),
    pattern_case("A ^ B", "a b", "", id="5.2b-start-in-the-middle"),
    pattern_case("A* ^ B", "b b", "0:B", id="5.2b-start-after-nothing"),
    pattern_case("A $", "a a", "1:A", id="5.2b-end"),
    pattern_case("A $ B", "a b", "", id="5.2b-end-in-the-middle"),
    pattern_case("^ A* $", "a a", "0:AA", id="5.2b-the-whole-partition"),
    pattern_case("^ A* $", "a b", "", id="5.2b-not-the-whole-partition"),
    pattern_case("A B C", "a b c", "0:ABC", id="5.2c-in-order"),
    pattern_case("A B", "a c b", "", id="5.2c-no-gap"),
    pattern_case("A | A B", "a b", "0:A", id="5.2d-the-left-side-even-if-shorter"),
    pattern_case("A B | A", "a b", "0:AB", id="5.2d-the-left-side-if-it-can"),
    pattern_case("A B | A", "a c", "0:A", id="5.2d-else-the-right-side"),
    pattern_case("(A | B) C", "ab c", "0:AC", id="5.2d-left-of-two-that-hold"),
    pattern_case(
        "(A | A B) C", "a b c", "0:ABC", id="5.2d-the-right-side-where-the-left-fails-later"
    ),
    pattern_case("() | A", "a", "0:", id="5.2d-empty-on-the-left"),
    pattern_case("A | ()", "a b", "0:A 1:", id="5.2d-empty-on-the-right"),
    pattern_case("(A | B)+", "ab ab", "0:AA", id="5.2d-each-iteration-chooses"),
    pattern_case("A B | C | D", "d", "0:D", id="5.2d-of-three"),
    pattern_case("A{2,3} A", "a a a", "0:AAA", id="5.2f-greedy-gives-back"),
    pattern_case("A{1,2}? B", "a a b", "0:AAB", id="5.2f-reluctant-takes-more-where-it-must"),
    pattern_case("A* A", "a a a", "0:AAA", id="5.2f-star-gives-back"),
    pattern_case("A*? B", "ab ab b", "0:B 1:B 2:B", id="5.2f-reluctant-stops-at-once"),
    pattern_case("A+? B", "ab ab b", "0:AB", id="5.2f-reluctant-plus"),
    pattern_case("A?? B", "ab b", "0:B 1:B", id="5.2f-reluctant-option"),
    pattern_case("(A B?)*", "a b a", "0:ABA", id="5.2f-nested"),
    pattern_case("(A | A B)*", "a b a", "0:A 1: 2:A", id="5.2f-not-the-longest"),
    pattern_case("(A*){2}", "a a", "0:AA", id="5.2f-below-the-least-count"),
    pattern_case("$", "a", "", id="5.4-no-match-begins-after-the-last-row"),
    pattern_case("A*", "b a", "0: 1:A", id="5.4-an-empty-match"),
    pattern_case("(A | B)* C", "ab ab ab c", "0:AAAC", id="5.5-the-least-choices"),
    pattern_case("A* (A B | B)", "a a b", "0:AAB", id="5.5-the-longer-run-first"),
    pattern_case("(A | B)* B A", "b a b a", "0:BABA", id="5.5-backtracking-into-earlier-choices"),
]
EMPTY_ITERATIONS = [
    pattern_case("(A??)* B", "ab ab", "0:B 1:B", id="5.6-an-empty-iteration-ends-the-loop"),
    pattern_case("(() | A)*", "a a", "0: 1:", id="5.6-empty-preferred-is-always-empty"),
    pattern_case("(A | ())*", "a a", "0:AA", id="5.6-rows-preferred-takes-them"),
    pattern_case("(A??){2,}", "a a", "0: 1:", id="5.6-two-empty-iterations"),
    pattern_case("(A??){2,} $", "a a", "0:AA", id="5.6-iterations-that-have-to-be"),
    pattern_case("(() | A | B C){2} $", "ab ac", "0:BC", id="5.3-empty-ones-below-the-least-count"),
    pattern_case("(A* (B | C??))?", "b c", "0:B 1:", id="5.6-the-empty-iteration-before-c"),
    pattern_case("(A??)+ B", "ab ab", "0:B 1:B", id="5.6-plus"),
    pattern_case("(A??)* $", "a a", "0:AA", id="5.6-one-row-after-the-other-if-it-has-to-be"),
    pattern_case("(^)* A", "a", "0:A", id="5.6-iterations-of-an-anchor"),
    pattern_case("(A? B??)*? C", "a b c", "0:ABC", id="5.6-reluctant-loop-of-what-may-be-empty"),
]
DECISIONS = [
    pattern_case("A B", "ab b", "0:AB", id="D1-plain"),
    pattern_case("A* B", "ab", "0:B", id="D1-greedy-is-not-possessive"),
    pattern_case("A? B", "ab c", "0:B", id="D1-an-option-is-given-back"),
    pattern_case("A{1,3} B+ C", "a bc bc", "0:ABC", id="D1-three-quantifiers"),
    pattern_case("A+", "a a", "0:AA", id="D1-a-greedy-last-element"),
    pattern_case("(A??)* B", "ab ab ab", "0:B 1:B 2:B", id="D2-perl-not-javascript"),
    pattern_case("A E", "a b", "0:AE", id="D3-without-definition-a-variable-is-true"),
    pattern_case("E", "a b", "0:E 1:E", id="D3-define-may-be-absent"),
    pattern_case("PERMUTE(A, B C??, B)", "a b c b", "0:ABCB", id="D18-permute-is-its-alternation"),
    pattern_case("PERMUTE(A, B C??, B)", "a b bc c", "0:ABB", id="D18-with-reluctant-parts-too"),
]

CASES = [*GRAMMAR, *DERIVATIONS, *EMPTY_ITERATIONS, *DECISIONS]


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(("pattern", "text", "clauses", "expected"), CASES)
def test_the_scan_finds(
    pattern: str, text: str, clauses: str, expected: str, evaluator: RowEvaluator
) -> None:
    assert scan_of(pattern, text, clauses, evaluator) == expected
