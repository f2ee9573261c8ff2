"""Notebooks run by the interpreter that asks for it, whatever kernels are installed.

    JUPYTER_PATH=FOLDER python -m proofs_tests.notebook_runs NOTEBOOK OUT

is one run, in a process of its own, which takes its sockets with it when it ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

KERNEL = "cerlab-notebooks"
"""The name of the kernel that is made for a run; none is installed under it."""

CELL_SECONDS = 900
"""Seconds that one cell may take."""

NOTEBOOK_SECONDS = 3_600
"""Seconds that all cells may take."""


def made_kernel(folder: Path) -> Path:
    """A folder for ``JUPYTER_PATH`` with a kernel in it: this interpreter, cerlab on its path."""
    here = folder / "kernels" / KERNEL
    here.mkdir(parents=True)
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    kernel = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "cerlab",
        "language": "python",
        "env": {"PYTHONPATH": path, "IPYTHONDIR": str(folder / "ipython")},
    }
    (here / "kernel.json").write_text(json.dumps(kernel))
    return folder


def execute(notebook: Path, kernels: Path, out: Path) -> Any:
    """The notebook with its outputs, up to the first cell that fails; it runs where it lies.

    Raises `subprocess.SubprocessError` if it takes too long, or the kernel dies.
    """
    target = out / notebook.name
    subprocess.run(
        [sys.executable, "-m", "proofs_tests.notebook_runs", notebook, target],
        cwd=ROOT,
        env={**os.environ, "JUPYTER_PATH": str(kernels)},
        check=True,
        timeout=NOTEBOOK_SECONDS,
    )
    return import_module("nbformat").read(target, as_version=4)


def complaints(document: Any) -> list[str]:
    """Return the lines that cells printed on standard error, and errors among their outputs."""
    lines = []
    for cell in document.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                lines.append(f"{cell.id}: {output.ename}: {output.evalue}")
            elif output.output_type == "stream" and output.name == "stderr":
                lines.append(f"{cell.id}: {output.text}")
    return lines


def _run(notebook: Path, target: Path) -> None:
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    nbformat = import_module("nbformat")
    document = nbformat.read(notebook, as_version=4)
    client = NotebookClient(
        document,
        kernel_name=KERNEL,
        timeout=CELL_SECONDS,
        coalesce_streams=True,
        resources={"metadata": {"path": str(notebook.parent)}},
    )
    try:
        client.execute()
    except CellExecutionError as error:
        print(f"{notebook.name}: {error}", file=sys.stderr)
    nbformat.write(document, target)


if __name__ == "__main__":
    _run(*map(Path, sys.argv[1:]))
