"""Every rule of the relation, by hand (SRT Def. 17; SRT Def. 39; SRT Def. 44).

Positions count from 0. A row computes ``Match(e, S)``, so the whole of S is consumed.
"""

from __future__ import annotations

import pytest

from proofs_tests.sremo.tables import Match, case, match

EPSILON = [
    case("EPS", "", (), id="eps-on-nothing"),
    case("EPS", "A", id="eps-consumes-nothing"),
    case("EMPTY", "", id="empty-has-not-even-the-empty-match"),
    case("EMPTY", "A", id="empty-on-an-event"),
    case("EMPTY | A^", "A", (0,), id="empty-in-a-choice"),
    case("EMPTY . A^", "A", id="empty-in-a-sequence"),
    case("EMPTY*", "", (), id="empty-star-is-eps"),
]
TERMINAL = [
    case("A^", "A", (0,), id="marked"),
    case("A", "A", (), id="unmarked-matches-with-no-marks"),
    case("A^", "B", id="guard-fails"),
    case("A^", "", id="needs-an-event"),
    case("A^", "AA", id="takes-one-event"),
    case("_^", "B", (0,), id="true"),
]
REGISTERS = [
    case("A^ -> r . <v = r.v>^", "AB", (0, 1), v="11", id="read-what-was-written"),
    case("A^ -> r . <v = r.v>^", "AB", v="10", id="and-differs"),
    case("A -> r . <v = r.v>^", "AA", (1,), v="00", id="unmarked-events-are-stored-too"),
    case("<v = r.v>^", "A", v="0", id="an-empty-register-makes-the-atom-false"),
    case("<NOT v = r.v>^", "A", (0,), v="0", id="and-its-negation-true"),
    case("<v != r.v>^", "A", v="0", id="but-not-the-opposite-atom"),
    case("<v = r.v>^ -> r", "A", v="0", id="the-guard-is-read-before-the-write"),
    case(
        "<NOT v = r.v>^ -> r . <v = r.v>^", "AA", (0, 1), v="11", id="and-the-write-comes-after-it"
    ),
    case(
        "A -> r . <v = r.v>^ -> r . <v = r.v>^",
        "ABC",
        v="011",
        id="a-guard-compares-with-what-it-overwrites",
    ),
    case("A -> r . B^ -> r . <v = r.v>^", "ABC", (1, 2), v="011", id="the-last-write-wins"),
    case("A -> r . B^ -> r . <v = r.v>^", "ABC", v="010", id="the-first-write-is-gone"),
    case("A^ -> {r, s} . <v = r.v AND v = s.v>^", "AA", (0, 1), v="11", id="two-at-once"),
    case(
        "A -> r . B -> s . <v = r.v AND NOT v = s.v>^",
        "ABC",
        (2,),
        v="101",
        id="each-register-keeps-its-own",
    ),
    case("A^ -> r . B^ -> s . <r.v < s.v>", "ABC", (0, 1), v="01.", id="two-registers-compared"),
    case("A^ -> r . B^ -> s . <r.v < s.v>", "ABC", v="10.", id="two-registers-the-other-way"),
    case("A^ -> r . <r.v = 1>", "AB", (0,), v="1.", id="a-register-and-a-constant"),
    case("A^ -> r . <r.v = 1>", "AB", v="0.", id="a-register-and-another-constant"),
    case("A^ -> r . <v = r.v>^", "AB", v=".1", id="a-missing-value-in-the-register"),
    case("A^ -> r . <NOT v = r.v>^", "AB", (0, 1), v="..", id="two-missing-values-are-not-equal"),
    case("A^ -> r . <type = r.type>^", "AA", (0, 1), id="types-compare"),
    case("A^ -> r . <type = r.type>^", "AB", id="types-differ"),
]
CONCAT = [
    case("A^ . B^", "AB", (0, 1), id="in-order"),
    case("A^ . B^", "BA", id="not-in-the-other-order"),
    case("A^ . B^", "ACB", id="no-gap"),
    case("A . B^", "AB", (1,), id="marks-of-one-side"),
    case("A^ . EPS", "A", (0,), id="eps-on-the-right"),
    case("EPS . A^", "A", (0,), id="eps-on-the-left"),
    case("_* . A^ . _*", "AA", (0,), (1,), id="every-split"),
    case("A^* . A^*", "A", (0,), id="one-match-of-two-splits"),
    case("A^ . B^", "A", id="right-side-missing"),
    case("(A -> r | A -> s) . <v = r.v>^", "AA", (1,), v="11", id="registers-are-handed-on"),
    case("_* . <TRUE> -> r . _ . <v = r.v>^", "ABC", (2,), v="101", id="one-of-several-valuations"),
    case("_^ . _^ . _^", "ABC", (0, 1, 2), id="three"),
]
ALTERNATION = [
    case("A^ | B^", "B", (0,), id="right"),
    case("A^ | B^", "A", (0,), id="left"),
    case("A^ | B^", "C", id="neither"),
    case("A^ | A", "A", (0,), (), id="both-with-different-marks"),
    case("_^ | A^", "A", (0,), id="both-with-the-same-marks"),
    case("A^ | EPS", "", (), id="with-eps"),
    case("A^ | A^ . B^", "AB", (0, 1), id="of-different-lengths"),
]
STAR = [
    case("A^*", "", (), id="none"),
    case("A^*", "A", (0,), id="one"),
    case("A^*", "AAA", (0, 1, 2), id="three"),
    case("A^*", "AB", id="contiguous"),
    case("(A^ | A)*", "AA", (), (0,), (1,), (0, 1), id="each-iteration-chooses"),
    case("EPS*", "", (), id="of-eps"),
    case("EPS*", "A", id="of-eps-on-an-event"),
    case("(A^ | EPS)*", "AA", (0, 1), id="of-what-may-be-empty"),
    case("(A^ . B)*", "ABAB", (0, 2), id="of-a-sequence"),
    case("(A^ . B)*", "ABA", id="of-a-sequence-cut-short"),
    case("(A^*)*", "AA", (0, 1), id="nested"),
    case("(<NOT v = r.v>^ -> r)*", "AA", v="00", id="registers-are-not-reset"),
    case("(<NOT v = r.v>^ -> r)*", "AAA", (0, 1, 2), v="010", id="and-compare-with-the-last"),
    case(
        "(A^ -> r . B^ . <v = r.v>^)*",
        "ABCABC",
        (0, 1, 2, 3, 4, 5),
        v="1.10.0",
        id="overwritten-in-each-iteration",
    ),
    case("A^* . B^", "B", (0,), id="none-and-then"),
]
PLUS_AND_OPTION = [
    case("A^+", "", id="plus-needs-one"),
    case("A^+", "A", (0,), id="plus-once"),
    case("A^+", "AA", (0, 1), id="plus-twice"),
    case("A^+", "ABA", id="plus-is-contiguous"),
    case("EPS+", "", (), id="plus-of-eps"),
    case("A^?", "", (), id="option-none"),
    case("A^?", "A", (0,), id="option-one"),
    case("A^?", "AA", id="option-not-two"),
]
SPAN = [
    case("(A^ . _* . A^)[1..3]", "AAA", (0, 2), id="span-fits"),
    case("(A^ . _* . A^)[1..3]", "AAAA", id="span-too-long"),
    case("(_* . A^)[1..1]", "BBA", (2,), id="what-is-before-the-first-mark-does-not-count"),
    case("(A^ . _*)[1..1]", "ABB", (0,), id="what-is-after-the-last-mark-does-not-count"),
    case("(A . A)[1..1]", "AA", (), id="no-marks-have-span-0"),
    case("(A^ . B^*)[1..2]", "AB", (0, 1), id="span-of-an-iteration"),
    case("(A^ . B^*)[1..2]", "ABB", id="span-of-a-longer-iteration"),
    case("_* . (A^ . _* . B^)[1..2]", "AAB", (1, 2), id="span-inside-a-sequence"),
    case("(_* . A^)[1..1] . B^", "BAB", (1, 2), id="span-of-its-own-marks-only"),
]
LENGTH = [
    case("(_* . A^)[len<=1]", "BBA", id="what-is-before-the-first-mark-counts"),
    case("(A^ . _* . A^)[len<=3]", "AAA", (0, 2), id="length-fits"),
    case("(A^ . _* . A^)[len<=3]", "AAAA", id="length-too-long"),
    case("(A . A)[len<=1]", "AA", id="unmarked-events-count"),
    case("(A^*)[len<=0]", "", (), id="length-0"),
    case("(A^*)[len<=0]", "A", id="length-0-of-an-event"),
    case("_* . (A^ . _*)[len<=2]", "ABB", id="length-of-the-slice"),
    case("_* . (A^ . _*)[len<=2]", "BAB", (1,), id="length-of-the-last-slice"),
]
WITHIN = [
    case("(A^ . _* . A^)[within 2 t]", "AAA", (0, 2), t="012", id="inclusive"),
    case("(A^ . _* . A^)[within 2 t]", "AAA", t="013", id="too-late"),
    case("(A . A)[within 0 t]", "AA", (), t="05", id="no-marks-pass"),
    case("(_ . A^ . A^ . _)[within 1 t]", "BAAB", (1, 2), t="0459", id="between-marks-only"),
    case("(A^ . A^)[within 0 t]", "AA", (0, 1), t="33", id="at-the-same-time"),
    case("(A^ . A^)[within 2.5 t]", "AA", (0, 1), t="24", id="a-fraction-fits"),
    case("(A^ . A^)[within 2.5 t]", "AA", t="25", id="a-fraction-does-not"),
    case("_* . (A^ . _* . B^)[within 3 t]", "AAB", (1, 2), t="025", id="inside-a-sequence"),
]
INTERSECTION = [
    case("A^ & A^", "A", (0,), id="the-same"),
    case("A^ & A", "A", id="different-marks"),
    case("A^ & B^", "A", id="different-guards"),
    case("(A^ . _^) & (_^ . B^)", "AB", (0, 1), id="each-side-asks-something"),
    case("(A^ | A) & A^", "A", (0,), id="of-the-marks-in-both"),
    case("(A^ . B^) & (A . B^)", "AB", id="all-marks-agree"),
    case("_^* & (_^ . _^)", "AA", (0, 1), id="all-events-agree"),
    case("_^* & (_^ . _^)", "AAA", id="all-events-agree-or-none"),
    case("(A^ & _^) . B^", "AB", (0, 1), id="goes-on"),
    case(
        "((A^ -> r . _^) & (_^ . B^ -> s)) . <v = r.v AND NOT v = s.v>",
        "ABC",
        (0, 1),
        v="101",
        id="registers-of-both-sides",
    ),
    case(
        "((A^ -> r . _^) & (_^ . B^ -> s)) . <v = s.v AND NOT v = r.v>",
        "ABC",
        (0, 1),
        v="100",
        id="each-with-its-own-event",
    ),
    case("A -> r . (B^ & _^) . <v = r.v>^", "ABC", (1, 2), v="1.1", id="other-registers-are-kept"),
    case(
        "A -> r . B -> s . (A^ -> s & _^) . <v = s.v>^",
        "ABAC",
        (2, 3),
        v="1011",
        id="a-register-that-one-side-overwrites",
    ),
    case(
        "A -> r . B -> s . (_^ & A^ -> s) . <v = s.v>^",
        "ABAC",
        (2, 3),
        v="1011",
        id="a-register-that-the-other-side-overwrites",
    ),
    case("A -> r . (<v = r.v>^ & <v = 1>^)", "AB", (1,), v="11", id="both-read-what-was-before"),
    case("A -> r . (<v = r.v>^ & <v = 1>^)", "AB", v="00", id="both-read-and-one-refuses"),
]
NEGATION = [
    case("!B", "", (), id="accepts-nothing"),
    case("!B", "A", (), id="accepts-another-event"),
    case("!B", "B", id="refuses-an-instance"),
    case("!B", "BB", (), id="accepts-two-instances"),
    case("!B", "AB", (), id="accepts-what-contains-one"),
    case("!(B^)", "A", (), id="marks-nothing"),
    case("!(B^)", "B", id="whatever-the-marks-of-an-instance"),
    case("!EMPTY", "AB", (), id="of-empty"),
    case("!(_*)", "", id="of-everything"),
    case("!!A", "A", (), id="twice"),
    case("!!A", "B", id="twice-on-another"),
    case("!!(A^)", "A", (), id="twice-still-marks-nothing"),
    case("A^ . !B . C^", "AC", (0, 1), id="empty-gap"),
    case("A^ . !B . C^", "ABC", id="gap-is-an-instance"),
    case("A^ . !B . C^", "ABBC", (0, 3), id="gap-holds-two"),
    case("A^ . !(_* . B . _*) . C^", "ABBC", id="absence-of-any"),
    case("A^ . !(_* . B . _*) . C^", "AAAC", (0, 3), id="absence-holds"),
    case("A^ -> r . !(<v = r.v>) . _^", "AAB", v="110", id="reads-registers"),
    case("A^ -> r . !(<v = r.v>) . _^", "AAB", (0, 2), v="100", id="reads-registers-and-lets-pass"),
    case(
        "A^ -> r . !(_ -> r . _) . <v = r.v>^",
        "ABC",
        (0, 2),
        v="101",
        id="writes-below-it-are-private",
    ),
    case("A^ . !(_ -> r . <v = r.v>) . C^", "ABBC", v=".11.", id="and-are-read-below-it"),
]
SKIP_ANY = [
    case("#(A^, B^)", "AB", (0, 1), id="any-no-gap"),
    case("#(A^, B^)", "ACB", (0, 2), id="any-gap"),
    case("#(A^, B^)", "ABB", (0, 2), id="any-skips-instances"),
    case("#(A^, B^)", "CAB", id="any-no-gap-before"),
    case("#(A^, B^)", "ABC", id="any-no-gap-after"),
    case("#(A^, B^, C^)", "ABXBXC", (0, 1, 5), (0, 3, 5), id="any-of-three"),
    case("#(A^ -> r, <v = r.v>^)", "ABB", (0, 2), v="101", id="any-with-registers"),
    case("#(A^)", "A", (0,), id="any-of-one"),
    case("#(A^)", "AA", id="any-of-one-has-no-gap"),
    case("#(A^ . B^)", "ACB", id="any-of-a-sequence-is-that-sequence"),
    case("#(A^*)", "", (), id="any-of-a-star-none"),
    case("#(A^*)", "AAA", (0, 1, 2), (0, 2), id="any-of-a-star"),
    case("#(A^*)", "BA", id="any-of-a-star-no-gap-before"),
    case("#(A^+)", "ABA", (0, 2), id="any-of-a-plus"),
    case("#(A^+)", "", id="any-of-a-plus-needs-one"),
    case("#((A^ . B^)+)", "ABXAB", (0, 1, 3, 4), id="any-between-iterations-not-inside"),
    case("#(A^?)", "", (), id="any-of-an-option"),
    case("#(A^, B^+, C^)", "ABXBC", (0, 1, 4), (0, 3, 4), id="an-operand-iterates-contiguously"),
    case(
        "#(A^, #(B^+), C^)",
        "ABXBC",
        (0, 1, 4),
        (0, 3, 4),
        (0, 1, 3, 4),
        id="unless-it-carries-the-operator",
    ),
]
SKIP_NEXT = [
    case("@(A^, B^)", "AB", (0, 1), id="next-no-gap"),
    case("@(A^, B^)", "ACB", (0, 2), id="next-gap"),
    case("@(A^, B^)", "ABB", id="next-skips-no-instance"),
    case("@(A^, B^)", "ABBB", id="next-nor-two"),
    case("@(A^, B^)", "ACBCB", id="next-nor-one-among-others"),
    case("@(A^, B^, C^)", "AXBYC", (0, 2, 4), id="next-of-three"),
    case("@(A^, B^, C^)", "ABBC", (0, 1, 3), id="next-gap-of-the-next-operand-only"),
    case("@(A^ -> r, <v = r.v>^)", "ABB", (0, 2), v="101", id="next-with-registers"),
    case("@(A^ -> r, <v = r.v>^)", "ABB", v="111", id="next-relational-gap"),
    case("@(A^)", "A", (0,), id="next-of-one"),
    case("@(A^*)", "", (), id="next-of-a-star-none"),
    case("@(A^*)", "AAA", (0, 1, 2), id="next-of-a-star-takes-each"),
    case("@(A^+)", "ABA", (0, 2), id="next-of-a-plus"),
    case("@(A^+)", "", id="next-of-a-plus-needs-one"),
    case("@(C^, A^ . _^)", "CAAB", (0, 2, 3), id="an-instance-may-overlap-the-end-of-the-gap"),
    case("@(C^, A^ . B^)", "CABAB", id="next-of-sequences"),
    case("@(C^, A^ . B^)", "CAAB", (0, 2, 3), id="next-half-an-instance"),
    case("@(C^, EPS)", "C", id="nothing-is-in-every-gap"),
    case(
        "@(C^, (A^ . _* . B^)[1..2])",
        "CAXBAB",
        (0, 4, 5),
        id="an-instance-is-one-with-its-window",
    ),
    case(
        "@(C^, (A^ | B^) & (A^ | B))",
        "CBA",
        (0, 2),
        id="an-instance-is-one-with-its-marks",
    ),
]
CASES = [
    *(*EPSILON, *TERMINAL, *REGISTERS, *CONCAT, *ALTERNATION, *STAR, *PLUS_AND_OPTION),
    *(*SPAN, *LENGTH, *WITHIN, *INTERSECTION, *NEGATION, *SKIP_ANY, *SKIP_NEXT),
]


@pytest.mark.parametrize(("text", "types", "values", "expected"), CASES)
def test_rule(text: str, types: str, values: dict[str, str], expected: Match) -> None:
    assert match(text, types, **values) == expected
