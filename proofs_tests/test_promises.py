"""Every promise in the documentation names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "promises.md"


def test_every_promise_names_its_tests() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [line.strip("|").split("|") for line in lines if line.startswith("| ")]
    promises = [(promise, tests) for promise, tests in rows if promise.strip() != "promise"]
    assert len(promises) > 15
    for promise, tests in promises:
        mentions = re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", tests)
        assert mentions, promise
        for path, name in mentions:
            text = (HERE / path).read_text(encoding="utf-8")
            assert re.search(rf"^def {name or 'test_'}", text, re.MULTILINE), (path, name)
