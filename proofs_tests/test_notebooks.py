"""The notebooks are clean, and each asks one question and answers it.

All of their cells run, without a word of complaint, when the manual is built
(`manual/test_site.py`).
"""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from proofs_tests.notebook_runs import FOLDER, NOTEBOOKS, complaints, execute, made_kernel

nbformat = pytest.importorskip("nbformat", reason="nbformat reads notebooks")

MOST_CELLS = 39

PARAMETERS = [pytest.param(path, id=path.stem) for path in NOTEBOOKS]


def test_there_are_notebooks_and_the_readme_lists_them_in_order() -> None:
    assert len(NOTEBOOKS) >= 6
    names = re.findall(r"`(\w+)\.ipynb`", (FOLDER / "README.md").read_text())
    assert names == [path.stem for path in NOTEBOOKS]


@pytest.mark.parametrize("path", PARAMETERS)
def test_a_notebook_is_clean(path: Path) -> None:
    document = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(document)
    assert (document.nbformat, document.nbformat_minor) == (4, 5)
    assert len(document.cells) <= MOST_CELLS
    ids = [cell.id for cell in document.cells]
    assert len(set(ids)) == len(ids)
    for cell in document.cells:
        assert re.fullmatch(r"[a-z][a-z0-9-]*", cell.id), cell.id
        assert cell.source.strip(), cell.id
        if cell.cell_type == "code":
            assert cell.outputs == [], cell.id
            assert cell.execution_count is None, cell.id


@pytest.mark.parametrize("path", PARAMETERS)
def test_a_notebook_begins_with_a_question_and_ends_with_the_answer(path: Path) -> None:
    first, *_, last = nbformat.read(path, as_version=4).cells
    assert first.cell_type == last.cell_type == "markdown"
    assert re.match(r"# .+\n\n\*\*.+\?\*\*\n", first.source)
    assert last.source.startswith("## Answer\n\n")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kernel of this interpreter."""
    for package in ("nbclient", "ipykernel", "matplotlib", "pygraphviz", "anywidget"):
        pytest.importorskip(package, reason=f"the notebooks need {package}")
    return made_kernel(tmp_path_factory.mktemp("kernels"))


@pytest.mark.services
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import warnings\nwarnings.warn('aloud')", "UserWarning: aloud"),
        ("import cerlab\nassert cerlab.count('A', [{'type': 'A'}]) == 2", "AssertionError"),
    ],
    ids=["a-warning", "an-error"],
)
def test_a_cell_that_complains_is_named(
    source: str, message: str, kernels: Path, tmp_path: Path
) -> None:
    cells = [
        nbformat.v4.new_code_cell(text, id=name)
        for name, text in (("quiet", "1 + 1"), ("loud", source))
    ]
    notebook = tmp_path / "notebook.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), notebook)
    (complaint,) = complaints(execute(notebook, kernels, tmp_path))
    assert complaint.startswith("loud: ")
    assert message in complaint


PUBLIC = {
    "cerlab",
    *(f"cerlab.{name}" for name in ["spark", "flink", "testing", "fuzz", "theorems"]),
}


def inside(source: str) -> list[str]:
    """Return the modules inside the package that a cell imports."""
    tree = ast.parse("" if source.startswith("%%") else re.sub(r"(?m)^[%!].*$", "", source))
    names = [each.module or "" for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)]
    names += [
        name.name for each in ast.walk(tree) if isinstance(each, ast.Import) for name in each.names
    ]
    return [name for name in names if name.startswith("cerlab") and name not in PUBLIC]


@pytest.mark.parametrize("path", PARAMETERS)
def test_a_notebook_imports_public_names_alone(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    assert not [name for cell in cells if cell.cell_type == "code" for name in inside(cell.source)]


@pytest.mark.parametrize("path", PARAMETERS)
def test_a_notebook_runs_outside_the_repository_and_hides_no_warning(path: Path) -> None:
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    pattern = r"\.\./|proofs_tests|examples/|filterwarnings|simplefilter\(.ignore"
    assert not [cell.id for cell in cells if re.search(pattern, cell.source)]


def test_an_import_from_inside_is_found() -> None:
    assert inside("if True:\n    from cerlab.viz.tecs import snapshot") == ["cerlab.viz.tecs"]
    assert inside("import cerlab.spark, cerlab\nfrom cerlab import cel") == []


@pytest.mark.parametrize("path", PARAMETERS)
def test_the_names_that_a_notebook_takes_of_a_public_module_are_there(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    for module, name in re.findall(r"\bcerlab\.(spark|testing|theorems|fuzz)\.(\w+)", code):
        assert name in import_module(f"cerlab.{module}").__all__, f"cerlab.{module}.{name}"
