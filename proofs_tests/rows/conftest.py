"""Small tables go to the compiled evaluators too, if they accept the query."""

from __future__ import annotations

import pytest

from cerlab.rows import recognise as rows


@pytest.fixture(autouse=True)
def _no_table_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "SHORT", 0)
