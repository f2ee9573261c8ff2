"""Words of the search index in American spelling too, so that `determinize` finds its page."""

from __future__ import annotations

import re

from sphinx.search.en import SearchEnglish

_AMERICAN = (
    (re.compile(r"is(e|es|ed|er|ing|able|ations?)$"), r"iz\1"),
    (re.compile(r"ys(e|es|ed|er|ing)$"), r"yz\1"),
    (re.compile(r"our(s|ed|ing|able)?$"), r"or\1"),
    (re.compile(r"ll(ed|er|ing)$"), r"l\1"),
    (re.compile(r"tre(s|d)?$"), r"ter\1"),
    (re.compile(r"ogue(s?)$"), r"og\1"),
)
"""Endings, and those of American spelling. A word that gains a wrong twin, as `promise` does, costs
an entry that nobody looks up."""

_split = SearchEnglish.split


def split(self: SearchEnglish, input: str) -> list[str]:
    """Return the words of a text, and each in American spelling where it has another one.

    >>> split(SearchEnglish({}), "Determinisation labelled colours")
    ['Determinisation', 'labelled', 'colours', 'Determinization', 'labeled', 'colors']
    """
    words = _split(self, input)
    return [*words, *(twin for word in words if (twin := american(word)) != word)]


def american(word: str) -> str:
    """Return a word with the ending of American spelling."""
    for ending, other in _AMERICAN:
        word = ending.sub(other, word)
    return word
