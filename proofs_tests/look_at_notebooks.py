"""Notebooks as readers see them: static HTML and JupyterLab, photographed in a headless Chromium.

    python -m proofs_tests.look_at_notebooks OUT [NOTEBOOK ..]

runs each notebook, exports it as HTML and opens that, in the light theme; opens each in JupyterLab,
in its dark theme, and runs it there; moves the slider of the stepper in both, and on the page that
``steps.save`` writes. It leaves the pages and screenshots in OUT, fails where something is not as
it should be, and skips with a reason without Chromium, Playwright or JupyterLab. It is not a test
of the suite: it takes minutes.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import cerlab
from cerlab.viz.graph import DARK, LIGHT
from proofs_tests.browser import chromium, lacking
from proofs_tests.notebook_runs import (
    NOTEBOOK_SECONDS,
    NOTEBOOKS,
    ROOT,
    complaints,
    execute,
    made_kernel,
)

STEPPER = "05_inside_the_tecs"
PACKAGES = ("jupyterlab", "nbconvert", "nbclient", "anywidget")
PICTURES = "svg.cerlab-graph, svg.cerlab-timeline"
WINDOW = {"width": 1200, "height": 900}

SECONDS = 240
"""Seconds that the server may take to start, and a kernel in it."""

LAB_SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},  # all cells are in the page
    "apputils-extension/themes": {"theme": "JupyterLab Dark"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


def main(arguments: list[str]) -> None:
    """Look at the notebooks that are named, or at all."""
    if not arguments:
        raise SystemExit(__doc__)
    missing = [package for package in PACKAGES if find_spec(package) is None]
    if missing or lacking():
        print(f"skipped: there is no {' nor '.join(filter(None, [*missing, lacking()]))}")
        return
    out = Path(arguments[0])
    out.mkdir(parents=True, exist_ok=True)
    notebooks = [path for path in NOTEBOOKS if path.stem in arguments[1:] or len(arguments) == 1]
    with chromium() as browser, TemporaryDirectory() as folder:
        page = browser.new_page(viewport=WINDOW)
        kernels = made_kernel(Path(folder))
        for notebook in notebooks:
            look_at_export(page, export(notebook, kernels, out), out)
        look_at_saved_steps(page, out)
        look_at_lab(page, notebooks, out)


def export(notebook: Path, kernels: Path, out: Path) -> Path:
    """The notebook with its outputs as a page."""
    document = execute(notebook, kernels, out)
    complaint_lines = complaints(document)
    assert not complaint_lines, complaint_lines
    exporter = import_module("nbconvert").HTMLExporter(embed_images=True)
    html, _ = exporter.from_notebook_node(document)
    path = out / f"{notebook.stem}.html"
    path.write_text(html, encoding="utf-8")
    return path


def look_at_export(page: Any, path: Path, out: Path) -> None:
    """No error output, and pictures that have a size."""
    page.goto(path.resolve().as_uri(), wait_until="load")
    assert page.locator(".output_error, .jp-RenderedText[data-mime-type*=stderr]").count() == 0
    assert page.evaluate(OUR_STYLE), "the style of the page is stronger than ours"
    pictures = _pictures(page)
    page.screenshot(path=out / f"{path.stem}.png", full_page=True)
    print(f"{path.stem}: exported, {pictures} SVG visible")
    if path.stem == STEPPER:
        move_slider(page, page.frame_locator("iframe"), out, "export")


OUR_STYLE = """() => {
    const all = (what, holds) =>
        [...document.querySelectorAll(what)].every((each) => holds(getComputedStyle(each)));
    return all(".cerlab pre", (style) => style.fontFamily.includes("monospace"))
        && all(".cerlab td:not(.n)", (style) => style.textAlign === "left")
        && all(".cerlab td.n", (style) => style.textAlign === "right");
}"""
"""Jupyter's own style for text and tables leaves trees and columns as they are meant."""


def _pictures(page: Any) -> int:
    """Return the number of cerlab's pictures on the page; none of them is empty."""
    boxes = page.locator(PICTURES).evaluate_all(
        "all => all.map(each => each.getBoundingClientRect()).map(box => [box.width, box.height])"
    )
    assert all(width > 20 and height > 20 for width, height in boxes), boxes
    return len(boxes)


def look_at_saved_steps(page: Any, out: Path) -> None:
    """The page with a slider that ``steps.save`` writes, without a server."""
    path = out / "steps.html"
    cerlab.step("A+ ; B", [{"type": kind} for kind in "AABB"]).save(path)
    page.goto(path.resolve().as_uri())
    move_slider(page, page, out, "steps")


def move_slider(page: Any, inside: Any, out: Path, name: str) -> None:
    """Move the slider to its end by the keyboard; every step shows another picture."""
    slider = inside.locator(".cerlab-stepper input[type=range]")
    frame = inside.locator(".cerlab-frame")
    frame.scroll_into_view_if_needed()
    steps = int(slider.get_attribute("max")) + 1
    pictures = []
    slider.focus()
    for step in range(1, steps + 1):
        caption = inside.locator(".cerlab-step").inner_text()
        assert caption == f"step {step} of {steps}", caption
        assert frame.locator("svg").count() > 0
        pictures.append(frame.screenshot(path=out / f"{name}_step_{step}.png"))
        page.keyboard.press("ArrowRight")
    assert len(set(pictures)) == steps > 1
    print(f"{name}: the slider moved through {steps} different pictures")


def look_at_lab(page: Any, notebooks: list[Path], out: Path) -> None:
    """Run notebooks in JupyterLab, each in a separate workspace."""
    with TemporaryDirectory() as folder, _lab(Path(folder)) as (url, token):
        for notebook in notebooks:
            name = notebook.stem
            page.goto(f"{url}/lab/workspaces/{name}/tree/notebooks/{name}.ipynb?token={token}")
            look_at_running(page, name, out)
            _end_kernels(url, token)


def look_at_running(page: Any, name: str, out: Path) -> None:
    """Every cell runs, without error output, pictures are dark as the page, the slider works."""
    page.get_by_text("| Idle").wait_for(timeout=SECONDS * 1000)  # the kernel has started
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.wait_for_function(ALL_RUN, timeout=NOTEBOOK_SECONDS * 1000)
    cells = page.locator(".jp-CodeCell")
    assert page.locator("[data-mime-type*=error], [data-mime-type*=stderr]").count() == 0
    print(f"{name}: {cells.count()} cells run in JupyterLab, {_pictures(page)} SVG visible")
    if name == STEPPER:
        move_slider(page, page, out, "lab")
    assert page.evaluate(INK, [LIGHT.ink, "svg.cerlab-graph"]) in ([], [DARK.ink])
    for number, cell in enumerate(cells.all()):
        if cell.locator(f"{PICTURES}, .jp-RenderedImage, .cerlab-frame").count():
            cell.scroll_into_view_if_needed()
            page.screenshot(path=out / f"lab_{name}_{number:02}.png")


ALL_RUN = """() => [...document.querySelectorAll(".jp-CodeCell .jp-InputPrompt")]
    .every(prompt => /\\[\\d+\\]/.test(prompt.textContent))"""
"""Every cell has the number of its execution; while it runs it has a star."""


INK = """([ink, pictures]) => [...new Set(
    [...document.querySelectorAll(`${pictures} text[fill="${ink}"]`)]
        .map(text => getComputedStyle(text).fill.match(/\\d+/g))
        .map(rgb => "#" + rgb.map(n => (+n).toString(16).padStart(2, "0")).join("")))]"""
"""The colours in which words show that were drawn in a certain one."""


def _end_kernels(url: str, token: str) -> None:
    """So that one notebook's memory is not beside the next one's."""
    headers = {"Authorization": f"token {token}"}
    with urlopen(Request(f"{url}/api/sessions", headers=headers)) as reply:
        sessions = json.load(reply)
    for session in sessions:
        address = f"{url}/api/sessions/{session['id']}"
        urlopen(Request(address, headers=headers, method="DELETE")).close()


@contextmanager
def _lab(folder: Path) -> Iterator[tuple[str, str]]:
    """JupyterLab on copies of the notebooks, with separate settings; its address and token."""
    for name in ("notebooks", "examples"):
        shutil.copytree(ROOT / name, folder / name)
    for name, settings in LAB_SETTINGS.items():
        path = folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(16)
    server = subprocess.Popen(
        [
            *[sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"],
            *[f"--ServerApp.port={port}", f"--IdentityProvider.token={token}"],
            f"--ServerApp.root_dir={folder}",
        ],
        env={
            **os.environ,
            "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
            "JUPYTER_CONFIG_DIR": str(folder / "config"),
            "JUPYTER_DATA_DIR": str(folder / "data"),
            "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
            "PYTHONPATH": str(ROOT),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/api")
        yield f"http://127.0.0.1:{port}", token
    finally:
        server.terminate()
        server.wait(SECONDS)


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            with urlopen(url):
                return
        except (URLError, ConnectionError):
            time.sleep(0.5)
    raise TimeoutError(f"nothing answers at {url}")


if __name__ == "__main__":
    main(sys.argv[1:])
