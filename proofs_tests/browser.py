"""A headless Chromium for tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def lacking() -> str:
    """What is missing here to open a page in a browser; empty where nothing is."""
    missing = [] if _program() else ["Chromium"]
    missing += [] if find_spec("playwright") else ["Playwright"]
    return " and ".join(missing)


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser, of which `new_page` and `new_context` make pages."""
    with import_module("playwright.sync_api").sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=_program(), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


def _program() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)
