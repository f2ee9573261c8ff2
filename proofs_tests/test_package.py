"""Parts of a release: one version, every data file of the package, the papers to cite."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import cerlab
from cerlab.papers import PAPERS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "cerlab"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_file_of_the_package_is_in_the_wheel() -> None:
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["cerlab"]
    wheel_files = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    missing = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"} and path not in wheel_files
    ]
    assert missing == []


def test_the_version_is_one() -> None:
    version = re.search(r"^version: (.+)$", CITATION, re.MULTILINE)
    assert version
    assert cerlab.__version__ == PROJECT["project"]["version"] == version[1]


def test_every_paper_is_in_the_citation() -> None:
    titles = [each.strip('"') for each in re.findall(r"^    title: (.+)$", CITATION, re.MULTILINE)]
    assert titles == [paper.title for paper in PAPERS.values()]


WITHOUT = """
import sys
extras = "pandas polars pyspark duckdb networkx graphviz pygraphviz matplotlib anywidget IPython"
sys.modules.update(dict.fromkeys(extras.split()))
from cerlab.cli import main
import cerlab
assert main(["demo"]) == 0
assert main(["spark", "--doctor"]) in (0, 2)
spark = ["spark", "A", "--input", "e.parquet", "--output", "out", "--position", "n"]
assert main(spark) == main([*spark, "--stream", "--lateness", "0"]) == 2
for name in cerlab.spark.__all__:
    getattr(cerlab.spark, name)
"""


def test_what_needs_no_extra_runs_without_them(tmp_path: Path) -> None:
    """pyarrow asks for pandas in some versions, and modules of Spark would in all of them."""
    command = [sys.executable, "-c", WITHOUT]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("CER0879: PySpark is not installed") == 2
    assert "DISAGREES" not in done.stdout
