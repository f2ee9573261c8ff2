"""Fixtures of the laws of predicates."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cerlab.predicates import smt as listing


@pytest.fixture
def no_tries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave everything to z3: no events are tried, nothing is remembered."""
    monkeypatch.setattr(listing, "MAX_TRIALS", 0)
    listing.choices_of.cache_clear()
    yield
    listing.choices_of.cache_clear()
