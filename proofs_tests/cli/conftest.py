"""Fixtures of the command line: small batches, and files that must not be read as a whole."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import cerlab


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files come in batches of three events."""
    monkeypatch.setattr(cerlab.io, "batches", partial(cerlab.io.batches, size=3))


@pytest.fixture
def never_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file must not be read as a whole."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the whole file was read")

    monkeypatch.setattr(cerlab.io, "read", refuse)
