"""The types of columns of text: a table by hand, however text comes, and pandas on random files."""

from __future__ import annotations

import io
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pandas as pd
import pytest

import cerlab
from cerlab import Stream
from cerlab.errors import on_command_line
from cerlab.io import batches
from cerlab.io.conversion import RowReading
from cerlab.io.text_reader import plain_events
from proofs_tests.io.test_text import EVERY
from proofs_tests.suite import Suite, random_suite

TYPES = {"int64": int, "double": float, "boolean": bool, "timestamp": cerlab.Timestamp, "text": str}


class Case(NamedTuple):
    """A column of text, and what it is read as."""

    is_csv: bool
    cells: list[str]
    type: str
    values: list[str]
    warned: str = ""
    """The code of the warning that it gives."""


def cases() -> Iterator[Case]:
    for line in Path(__file__).with_name("column_types.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            match = re.fullmatch(r"(csv )?\|(.*?) {2,}(\w+)(?: CER(\d+))? {2,}(.*)", line)
            assert match is not None, line
            cells = [cell[1:] if cell[:1] == " " else cell for cell in match[2].split("|")]
            cells = [cell.rstrip(" ") if not match[1] else cell.rstrip() for cell in cells]
            values = match[5].split(" ")
            if values == ["="]:
                values = [repr(cell) for cell in cells]
            elif match[3] == "text":
                values = [repr(value.replace("_", " ")) for value in values]
            warned = f"CER{match[4]}" if match[4] else ""
            yield Case(match[1] is not None, cells, match[3], values, warned)


def spelled(words: Sequence[str]) -> list[str]:
    """Return all ways to write words in upper and lower case."""
    return [
        "".join(each) for word in words for each in product(*zip(word, word.upper(), strict=True))
    ]


SPELLINGS = spelled(["true", "false"])
MARGINS = [
    f"{left}{each}{right}" for each in SPELLINGS for left in ("", " ") for right in ("", "\t")
]
CASES = [
    *cases(),
    *(
        Case(False, cells, "boolean", [str(cell.strip().lower() == "true") for cell in cells])
        for cells in (SPELLINGS, MARGINS)
    ),
    Case(False, [*SPELLINGS, "yes"], "text", [*map(repr, SPELLINGS), "'yes'"]),
]


def csv_lines(cells: list[str]) -> list[str]:
    return ["type,v,w", *(f"A,{cell},x" for cell in cells)]


def core_lines(cells: list[str]) -> list[str]:
    return [f"A(v={cell},w=x)" for cell in cells]


FORMATS = {"csv": csv_lines, "core": core_lines}


def check(case: Case, values: list[Any]) -> None:
    shown = [v if isinstance(v, str) else str(v) for v in values]
    if case.type == "text":
        shown = [repr(v) for v in values]
    assert shown == case.values
    assert {type(v) for v in values} - {type(None)} <= {TYPES.get(case.type, int)}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case.cells)[:40])
def test_a_column_has_the_first_type_that_fits_its_cells(
    case: Case, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole, in batches of 1 and 7, and from a pipe that gives everything at once."""
    if case.is_csv and kind == "core":
        return
    text = "\n".join(FORMATS[kind](case.cells)) + "\n"
    path = tmp_path / f"e.{kind}"
    path.write_text(text)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    doors: list[Callable[[], Iterable[Stream]]]
    doors = [lambda: [Stream.read(path)], lambda: batches(path, size=1)]
    doors += [lambda: batches(path, size=7), lambda: batches("-")]
    for door in doors:
        with warnings.catch_warnings(record=True, action="always") as caught:
            check(case, [event.attributes["v"] for part in door() for event in part])
        assert [str(each.message)[:7] for each in caught] == [case.warned] * bool(case.warned)


def test_blanks_around_values_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("type,v,b,t,n\nA, 7 ,true ,\t2020-01-02, x \nA,8,FALSE,,y\n")
    first, _ = Stream.read(tmp_path / "e.csv")
    moment = cerlab.Timestamp(1_577_923_200 * 10**9)
    assert first.attributes == {"v": 7, "b": True, "t": moment, "n": " x "}


_OPEN_END = 253_402_214_400 * 10**9
FROM_A_PIPE = [
    (["1", "2.5"], [1, 2.5]),
    (["1", "", "3"], [1, None, 3]),
    (["", "x"], [None, "x"]),
    (["x", "7"], ["x", "7"]),
    (["2.5", "7"], [2.5, 7.0]),
    (["2.5", "9007199254740993"], [2.5, 9007199254740992.0]),
    (["1", "x"], None),
    (["true", "1"], None),
    (["2020-01-02", "2020-01-02T00:00:00Z"], None),
    (["9007199254740993", "9223372036854775808"], None),
    (["9223372036854775808", "7"], ["9223372036854775808", "7"]),
    (["1970-01-01", "9999-12-31"], [cerlab.Timestamp(0), cerlab.Timestamp(_OPEN_END)]),
    (["1970-01-01T00:00:00.000000001", "9999-12-31"], None),
    (["1", "2.5", "true"], None),
]


@pytest.mark.filterwarnings("ignore:CER0920")
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("cells", "values"), FROM_A_PIPE)
def test_from_a_pipe_line_by_line(
    cells: list[str], values: list[Any] | None, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first batch settles the type; then integers may become doubles, and nothing else."""
    lines = [line + "\n" for line in FORMATS[kind](cells)]
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(lines)))
    events: list[Any] = []
    if values is None:
        with pytest.raises(cerlab.BadData, match="CER0725") as caught:
            events.extend(e for part in batches("-") for e in part)
        assert (caught.value.row, caught.value.column) == (len(lines), "v")
        assert "schema=" in caught.value.hint
        assert "--schema" in on_command_line(caught.value).hint
        assert len(events) == len(cells) - 1
        return
    events.extend(e for part in batches("-") for e in part)
    assert [event.attributes["v"] for event in events] == values


CELLS = [
    cell
    for cell in EVERY
    if cell.isprintable() and cell.strip() == cell and not set(cell) & set(",\"'`()\\\r\n")
]
POOLS = (
    ("0", "7", "-12", "+5", "007", "123456789012345678"),
    ("0.5", "27.8500", "-1e-3", "3.", ".25", "1e23", "0.1234567890123456789", "7"),
    ("TRUE", "false", "True"),
    ("INTC", "a b", "é", "x=y", "12a", "12:30", "-x"),
    CELLS,
)
ODD = re.compile(r"(?i)[+-]?nan|\d{4}-\d\d-\d\d.*|[+-]?\d{19,}")
"""Cells that pandas reads otherwise: NaN, times, integers beyond 63 bits."""


@random_suite(5_000)
def test_random_files_are_read_as_by_pandas(tmp_path: Path, rng: Random) -> bool:
    """With the same NULLs and the same rounding of decimals."""
    path = tmp_path / "e.csv"
    names = rng.sample(("v", "w", "größe", "id"), rng.randrange(1, 4))
    pools = [[c for c in rng.choice(POOLS) if not ODD.fullmatch(c)] for _ in names]
    rows = [
        [rng.choice(pool) if rng.random() < 0.9 else "" for pool in pools]
        for _ in range(rng.randrange(12))
    ]
    text = "\n".join([",".join(["type", *names]), *(",".join(["A", *row]) for row in rows)])
    path.write_text(text + "\n")
    frame = pd.read_csv(path, na_values=[""], keep_default_na=False, float_precision="round_trip")
    for part in (Stream.read(path), *batches(path, size=3)):
        for event in part:
            assert set(event.attributes) == set(names)
    for name in names:
        ours = [event.attributes[name] for event in Stream.read(path)]
        assert list(map(same, ours)) == list(map(same, frame[name].tolist())), text
    return bool(rows)


KINDS = {
    "nan": ["nan", "1.5"],
    "2026-01-31": ["2026-01-31"],
    "an empty cell": ["1", ""],
    "9223372036854775808": ["9223372036854775808"],
    "18446744073709551616": ["18446744073709551616", "1.5"],
    " true": [" true"],
    " inf": [" inf"],
    "0.30000000000000004": ["0.30000000000000004"],
}
"""Columns that pandas reads otherwise, by a cell in the table of the manual."""


@pytest.mark.filterwarnings("ignore:CER0920")
@pytest.mark.parametrize("name", KINDS)
def test_pandas_reads_other_values_as_the_manual_says(name: str, tmp_path: Path) -> None:
    manual = Path(__file__).parents[2] / "docs" / "how_to" / "files.md"
    _, _, after = manual.read_text("utf-8").partition("with seven exceptions:")
    table = after.partition("\n\nA pipe")[0]
    assert name in table
    assert len(table.strip().splitlines()) == 2 + 7
    path = tmp_path / "e.csv"
    path.write_text("\n".join(["type,v", *(f"A,{cell}" for cell in KINDS[name])]) + "\n")
    theirs = pd.read_csv(path, na_values=[""], keep_default_na=False)["v"].tolist()
    ours = [event.attributes["v"] for event in Stream.read(path)]
    assert list(map(repr, ours)) != list(map(repr, theirs))


def same(value: Any) -> Any:
    """A value as both have it: pandas has doubles where integers are missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return value if isinstance(value, str) else (isinstance(value, bool), float(value))


ODD_CELLS = """1 0 007 -12 +5 + 1.5 1e3 1E-3 1. .5 nan NaN inf -Infinity 1e400 9223372036854775807
9223372036854775808 -9223372036854775809 18446744073709551616 18446744073709551617 1_000 0x10 true
FALSE tRuE yes ٣ 2026-01-31 2026-01-31T10 2026-01-31T10:00:05.5 2026-01-31T10:00:05Z
2026-01-31T10:00:05.123456789 2026-01-31T10:00:05.1234567891 2026-01-31T10:00+02
2026-01-31T10:00:05+0200 2026-01-31T10:00:05-10:60 2026-01-31T10:00:05+24:00 2026-01-31Z 2026-02-30
2026-W05-1 2026-01-31T24:00:00 1600-01-01 9999-12-31 0001-01-01 0000-01-01
2262-04-11T23:47:16.854775807
2262-04-11T23:47:16.854775808 1677-09-21T00:12:43.145224192 10:00 NA NULL é x"""


@pytest.mark.filterwarnings("ignore:CER092")
@pytest.mark.parametrize("kind", FORMATS)
def test_a_short_text_is_read_in_python_as_by_pyarrow(
    kind: str, suite: Suite, tmp_path: Path
) -> None:
    """All odd cells alone, then some together, with spaces around them and nothing between."""
    path = tmp_path / f"e.{kind}"

    def check(cells: list[str]) -> None:
        path.write_text("\n".join(FORMATS[kind](cells)) + "\n")
        events = plain_events(path.read_bytes(), kind, RowReading(str(path)))
        assert repr(events) == repr([*Stream.read(path).events]), cells

    def case(rng: Random) -> bool:
        pool = rng.sample(ODD_CELLS.split(), rng.choice((1, 2, 5)))
        cells = [rng.choice((*pool, "")) for _ in range(rng.randrange(1, 6))]
        check([f" {cell}\t" if rng.random() < 0.1 else cell for cell in cells])
        return True

    for cell in ODD_CELLS.split():
        check([cell])
    suite.run(case, deep_count=20_000)
