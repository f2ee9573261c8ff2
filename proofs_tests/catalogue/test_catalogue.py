"""Every entry of the catalogue is true: its example raises its code, and its fix runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from cerlab.catalogue import Entry, entries, markdown
from proofs_tests.catalogue.runs import code_of_lines, fresh_names, inside, of_answers
from proofs_tests.command import Cli

OF_SPARK = re.compile(r"(?<![.\w])spark[.,]|\$ cerlab spark")
"""Examples that need a session of Spark, and so a JVM."""

ALL = [
    pytest.param(
        entry,
        id=entry.code,
        marks=[pytest.mark.services] if OF_SPARK.search("\n".join(entry.example)) else [],
    )
    for entry in entries().values()
]


@pytest.mark.parametrize("entry", ALL)
def test_the_example_raises_its_code_and_the_mend_runs(
    entry: Entry, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict[str, Any] = fresh_names()
    if OF_SPARK.search("\n".join(entry.example)):
        names["spark"] = spark = request.getfixturevalue("spark")
        java, hadoop = spark._jvm, spark._jvm.org.apache.hadoop.fs
        local = hadoop.FileSystem.get(
            java.java.net.URI("file:///"), spark._jsc.hadoopConfiguration()
        )
        local.setWorkingDirectory(hadoop.Path(str(tmp_path)))
    monkeypatch.chdir(tmp_path)
    assert code_of_lines(entry.example, names) == entry.code
    mend = code_of_lines(entry.fixed, names)
    assert mend is None or (of_answers(mend) and not of_answers(entry.code))


def test_an_example_that_raises_nothing_or_too_early_is_noticed(tmp_path: Path) -> None:
    with inside(tmp_path):
        assert code_of_lines(('>>> cerlab.parse_query("SELECT * WHERE A")',), fresh_names()) is None
        with pytest.raises(AssertionError, match="already"):
            code_of_lines((">>> cerlab.count(3, [])", ">>> 4"), fresh_names())


def test_explain_prints_an_entry(cli: Cli) -> None:
    output = cli("explain", "cer0802", "207").out
    for entry in (entries()["CER0802"], entries()["CER0207"]):
        assert entry.cause in output
        assert entry.fix in output
        assert all(line in output for line in (*entry.example, *entry.fixed))
    assert "CER0839" in cli("explain", "CER9999", status=2).err


def test_explain_lists_all(cli: Cli) -> None:
    assert re.findall(r"CER\d{4}", cli("explain").out) == list(entries())


def test_the_page_has_every_entry_with_an_anchor() -> None:
    page = markdown()
    assert re.findall(r"### (CER\d{4})", page) == list(entries())
    assert all(f'id="{code.lower()}"' in page for code in entries())
    assert page.count("```") == 2 * sum(1 + bool(e.fixed) for e in entries().values())
