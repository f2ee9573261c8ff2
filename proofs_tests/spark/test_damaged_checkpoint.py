"""A damaged checkpoint or output: a stream goes on with nothing lost or doubled, or is refused."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cerlab.cli import main
from proofs_tests.spark.streams import QUERY, in_sink, late_of, local, with_late_rows, write_files
from proofs_tests.spark.test_stream_killed import command
from proofs_tests.suite import Suite

pytestmark = pytest.mark.filterwarnings("default")  # those of PySpark are not ours

BEFORE = 2
"""Files that are read before the damage; the others come after it."""

OUTPUT = "out/_spark_metadata"


class HalfStream:
    """A stream that has read some of its files, and is put back to there again and again."""

    def __init__(self, spark: Any, place: Path) -> None:
        self.spark, self.place, self._copy = spark, place, place.with_name("kept")
        self.files = with_late_rows(100)
        place.mkdir()
        write_files(place / "in", *self.files[:BEFORE])
        assert main(command(place)) == 0
        shutil.copytree(place, self._copy)
        late = late_of(self.files)
        rows_in_time = [row for rows in self.files for row in rows if row["id"] not in late]
        self.expected = local(QUERY, rows_in_time), late
        self.before = in_sink(spark, place)
        assert self.before[0]

    def restore(self, *folders: str) -> None:
        for folder in folders:
            shutil.rmtree(self.place / folder, ignore_errors=True)
            shutil.copytree(self._copy / folder, self.place / folder)

    def outlives(self, damage: Callable[[Path], None], stderr: Callable[[], str]) -> str | None:
        """The code of the error that a damage has, None if all goes on; either way as it has to."""
        self.restore("in", "checkpoint", "out")
        damage(self.place)
        write_files(self.place / "in", *self.files[BEFORE:])
        status, code = main(command(self.place)), re.search(r"^CER\d{4}", stderr(), re.MULTILINE)
        if status == 2:
            self.restore("checkpoint", "out")
            assert main(command(self.place)) == 0
        assert status in (0, 2)
        assert (status == 0) == (code is None)
        assert in_sink(self.spark, self.place) == self.expected
        return None if code is None else code[0]


@pytest.fixture(scope="module")
def half_stream(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> HalfStream:
    return HalfStream(spark, tmp_path_factory.mktemp("damaged") / "place")


def newest(folder: Path) -> Path:
    """The newest entry of a log, or state of a partition."""
    return max((p for p in folder.iterdir() if p.stem.isdigit()), key=lambda p: int(p.stem))


def missing(path: Path) -> None:
    """With its checksum, or with all that is below."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def flip_bit(path: Path) -> None:
    """A bit in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def entry(log: str, damage: Callable[[Path], None]) -> Callable[[Path], None]:
    """A damage of the newest entry of a log."""
    return lambda place: damage(newest(place / log))


DAMAGES: dict[str, tuple[Callable[[Path], None], str | None]] = {
    "the checkpoint": (lambda place: missing(place / "checkpoint"), "CER0778"),
    "the state of a bucket": (entry("checkpoint/state/0/0", flip_bit), "CER0785"),
}
"""Damages by name: the change, and the error."""

MORE: dict[str, tuple[Callable[[Path], None], str | None]] = {
    "the commit of a micro-batch": (entry("checkpoint/commits", missing), None),
    "the log of the output": (lambda place: missing(place / OUTPUT), "CER0778"),
    "what a micro-batch reads": (entry("checkpoint/offsets", flip_bit), "CER0778"),
    "all commits": (lambda place: missing(place / "checkpoint/commits"), None),
    "all offsets": (lambda place: missing(place / "checkpoint/offsets"), "CER0778"),
    "all files that were read": (lambda place: missing(place / "checkpoint/sources"), "CER0778"),
    "all states": (lambda place: missing(place / "checkpoint/state"), "CER0785"),
    "the output": (lambda place: missing(place / "out"), "CER0778"),
    "an older entry of the output": (lambda place: missing(place / OUTPUT / "0"), "CER0778"),
}
"""The same, for the deep profile."""


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_checkpoint_loses_nothing(
    half_stream: HalfStream, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    damage, code = DAMAGES[name]
    assert half_stream.outlives(damage, lambda: capsys.readouterr().err) == code


@pytest.mark.parametrize("name", MORE)
def test_more_damages_lose_nothing(
    half_stream: HalfStream, name: str, capsys: pytest.CaptureFixture[str], suite: Suite
) -> None:
    if not suite.deep:
        pytest.skip("with --profile deep only: each runs a stream twice")
    damage, code = MORE[name]
    assert half_stream.outlives(damage, lambda: capsys.readouterr().err) == code
