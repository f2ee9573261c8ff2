"""Answers get their name at once, and the files before them are never lost."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from cerlab.spark.writer import publish


def folder_of(place: Path, text: str) -> Path:
    place.mkdir()
    (place / "part").write_text(text)
    return place


@pytest.mark.parametrize("before", [None, "folder", "file"])
def test_it_takes_the_place_of_what_was_there(tmp_path: Path, before: str | None) -> None:
    folder, answers = folder_of(tmp_path / ".made", "new"), tmp_path / "answers"
    if before == "folder":
        folder_of(answers, "old")
    elif before == "file":
        answers.write_text("old")
    publish(folder, answers)
    assert [path.name for path in tmp_path.iterdir()] == ["answers"]
    assert (answers / "part").read_text() == "new"


def test_an_interrupt_before_the_new_name_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, answers = folder_of(tmp_path / ".made", "new"), folder_of(tmp_path / "answers", "old")
    rename = Path.rename

    def interrupt_at_new(self: Path, target: Any) -> Any:
        if self == folder:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupt_at_new)
    with pytest.raises(KeyboardInterrupt):
        publish(folder, answers)
    assert (answers / "part").read_text() == "old"
    assert (folder / "part").read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_stop_at_any_step_leaves_one_of_both_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a kill does: nothing is put back."""
    for stop in range(3):
        place = tmp_path / str(stop)
        place.mkdir()
        folder, answers = folder_of(place / ".made", "new"), folder_of(place / "answers", "old")
        steps = 0

        def step(run: Any, *arguments: Any, last: int = stop) -> Any:
            nonlocal steps
            if steps == last:
                raise SystemExit
            steps += 1
            return run(*arguments)

        rename, remove = Path.rename, shutil.rmtree
        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", lambda a, b, r=rename: step(r, a, b))
            patch.setattr(shutil, "rmtree", lambda a, r=remove: step(r, a))
            with pytest.raises(SystemExit):
                publish(folder, answers)
        contents = {part.read_text() for part in place.rglob("part")}
        assert "new" in contents
        assert stop == 2 or "old" in contents
