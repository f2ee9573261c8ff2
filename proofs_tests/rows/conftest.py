"""Small tables go to the compiled scan too, where it takes a query."""

from __future__ import annotations

import pytest

from cerlab.api import row_patterns


@pytest.fixture(autouse=True)
def _no_table_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_patterns, "SHORT", 0)
