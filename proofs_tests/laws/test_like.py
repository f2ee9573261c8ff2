"""LIKE as a language that z3 knows, against RE2, and cases by hand."""

from __future__ import annotations

from random import Random

import pytest
import z3

from cerlab.predicates.like import Characters, parse
from cerlab.predicates.minterms import minterms
from cerlab.predicates.smt.texts import literal, search_language
from cerlab.predicates.syntax import Like
from cerlab.predicates.truth import search
from proofs_tests.laws.vectors import V, vectors
from proofs_tests.suite import random_suite

PIECES = (
    *("a", "b", "\n", ".", "^", "$", "|", "(", ")", "(?:", "*", "+", "?", "*?", "??", "-", "é"),
    *(
        "[ab]",
        "[^a]",
        "[a-]",
        "[]a]",
        "[^]\\n]",
        "[^\\s]",
        "\\n",
        "\\w",
        "\\W",
        "\\s",
        "\\S",
        "\\d",
    ),
    *("\\.", "\\$", "}", "]", "[a-b-z]", "[\\-a]", "\\D", "[^\\W]"),
)


def random_pattern(rng: Random) -> str:
    return "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 7)))


@random_suite(20_000, needs_answers=0.3)
def test_the_subset_of_like_means_what_re2_means(rng: Random) -> bool | None:
    pattern = random_pattern(rng)
    tree = parse(pattern)
    if tree is None:
        return None
    context = z3.Context()
    language = search_language(tree, context)
    for _ in range(8):
        text = "".join(rng.choice("aabb\n.-é0 ") for _ in range(rng.randrange(5)))
        member = z3.simplify(z3.InRe(literal(text, context), language))
        assert z3.is_true(member) == search(pattern, text), (pattern, text)
        assert z3.is_true(member) or z3.is_false(member)
    return True


@pytest.mark.parametrize(
    "pattern",
    ["a{2}", "(?i)a", "(?P<n>a)", r"\bx", r"\pL", "[[:alpha:]]", r"\x41", r"\Qa\E", r"\A"],
)
def test_patterns_outside_the_subset_are_known_as_such(pattern: str) -> None:
    assert isinstance(search(pattern, ""), bool), "RE2 takes it"
    assert parse(pattern) is None


@pytest.mark.parametrize("pattern", ["(", ")", "a**", "*a", "[b-a]", "[a", "\\", r"\q", "a++"])
def test_what_is_no_pattern_is_in_no_subset(pattern: str) -> None:
    assert parse(pattern) is None
    with pytest.raises(ValueError, match="regular expression"):
        minterms([Like(V, pattern)])


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            r"\d",
            r"\s",
            r"\w",
            r"\D",
            r"\S",
            r"\W",
            r"[^\s]",
            r"[^\d-]",
            "[a-c-x]",
            "[]a]",
            "[^]a]",
        ),
        *(
            "[ -~]",
            "[b-dc-e]",
            r"[\n-\r]",
            r"[\]-a]",
            "[é-ü]",
            ".",
            r"\n",
            r"\t",
            r"\f",
            r"\v",
            r"\.",
        ),
    ],
)
def test_a_class_has_the_characters_that_re2_has(pattern: str) -> None:
    tree = parse(pattern)
    assert isinstance(tree, Characters)
    for code in (*range(300), *range(0xD7F0, 0xD800), *range(0xE000, 0xE010), 0x2FFFF):
        inside = any(low <= code <= high for low, high in tree.ranges)
        assert inside == search(f"^{pattern}$", chr(code)), code


def test_classes_and_anchors_at_a_newline() -> None:
    assert vectors("v LIKE '^.$'", "v = '\n'") == {"00": True, "01": True, "10": True}
    assert vectors("v LIKE '^[^a]$'", "v = '\n'") == {"00": True, "10": True, "11": True}
    assert vectors("v LIKE 'a$'", "v = 'a\n'") == {"00": True, "01": True, "10": True}
    assert vectors("v LIKE '^b'", "v = 'a\nb'") == {"00": True, "01": True, "10": True}


LIKE_TABLE: list[tuple[tuple[str, ...], dict[str, bool]]] = [
    (("v LIKE ''",), {"0": True, "1": True}),  # every text, and what is no text
    (("v LIKE '^x' AND v LIKE '^y'",), {"0": True}),
    (("v LIKE '^x'", "v LIKE 'y$'"), {"00": True, "01": True, "10": True, "11": True}),
    (("v LIKE '^(ab|ba)*$'", "v LIKE 'aaa'"), {"00": True, "01": True, "10": True}),
    (("v LIKE 'x^'",), {"0": True}),
    (("v LIKE '^a$'", "v = 'a'"), {"00": True, "11": True}),
    (("v LIKE '^a'", "v < 'a'"), {"00": True, "01": True, "10": True}),
    (("v LIKE '^a'", "v < 'b'"), {"00": True, "01": True, "11": True}),
    (
        ("v LIKE '^a'", "w LIKE '^a'", "v = w AND v LIKE ''"),
        {
            "000": True,
            "001": True,
            "010": True,
            "100": True,
            "110": True,
            "111": True,
        },
    ),
    (("v LIKE '^a' AND w LIKE '^b' AND v > w",), {"0": True}),
    (
        ("v LIKE '^a*b$' AND w LIKE '^a*c$' AND u LIKE '^a*b$' AND v < w AND w < u",),
        {
            "0": True,
            "1": True,
        },
    ),
    (("v + 1 LIKE ''",), {"0": True}),  # arithmetic gives no text
    (("type LIKE '^$'",), {"0": True}),  # a type is not empty
    (("type LIKE '^A'", "type = 'AB'"), {"00": True, "10": True, "11": True}),
    (("v LIKE 'a{2}'", "v = 'aa'"), {"00": True, "10": True, "11": True}),
    # Outside the subset and without an event that tells: not decided.
    (("v LIKE 'a{2}' AND NOT v LIKE 'aa'",), {"0": True, "1": False}),
    (("v LIKE '\U00020000'", "v = 1"), {"00": True, "01": True, "10": True}),
]


@pytest.mark.parametrize(("texts", "expected"), LIKE_TABLE)
def test_like_by_hand(texts: tuple[str, ...], expected: dict[str, bool]) -> None:
    assert vectors(*texts) == expected
