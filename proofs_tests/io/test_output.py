"""Files are whole or not there, whatever ends a command; and none that is read is written."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import cycle
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab.cli import main
from cerlab.io import arrow_table
from cerlab.io.answers import ROWS
from cerlab.io.output import refuse_same, whole_file, whole_text
from cerlab.io.sink import open_sink
from proofs_tests.command import Cli


class Stop(BaseException):
    """A `BaseException`, as an interrupt is."""


def answers(error: BaseException | None) -> Iterator[cerlab.ComplexEvent]:
    yield cerlab.ComplexEvent(0, 1, (0, 1))
    if error is not None:
        raise error


def write(error: BaseException | None, path: Path) -> None:
    with open_sink(path, "parquet", of_positions=True) as out:
        for answer in answers(error):
            out.table(arrow_table([answer]))
            out.finish()  # the row is in the file before the error


@pytest.mark.parametrize("before", [None, b"before"])
@pytest.mark.parametrize("error", [ValueError(), KeyboardInterrupt(), Stop()])
def test_after_an_error_a_place_is_as_it_was(
    tmp_path: Path, before: bytes | None, error: BaseException
) -> None:
    out = tmp_path / "out.parquet"
    if before is not None:
        out.write_bytes(before)
    with pytest.raises(type(error)):
        write(error, out)
    assert os.listdir(tmp_path) == ([] if before is None else ["out.parquet"])
    assert before is None or out.read_bytes() == before
    write(None, out)
    assert parquet.read_table(out).num_rows == 1
    assert os.listdir(tmp_path) == ["out.parquet"]


def test_until_the_end_there_is_what_was_there_before(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("before")
    with whole_text(out) as file:
        file.write("é\n")
        file.flush()
        assert out.read_text() == "before"
    assert out.read_text(encoding="utf-8") == "é\n"


def test_links_stay_links_and_rights_stay(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    out, link = tmp_path / "there" / "out", tmp_path / "link"
    out.write_text("before")
    out.chmod(0o640)
    link.symlink_to("there/out")
    with whole_text(link) as file:
        file.write("after")
    assert link.is_symlink()
    assert out.read_text() == "after"
    assert stat.S_IMODE(out.stat().st_mode) == 0o640
    assert os.listdir(out.parent) == ["out"]


def test_a_new_file_has_the_rights_of_new_files(tmp_path: Path) -> None:
    with whole_text(tmp_path / "out"):
        pass
    (tmp_path / "plain").touch()
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_pipe_and_a_device_are_written_to_as_they_are(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with whole_text(pipe) as file:
        file.write("text")
    reader.join()
    assert read == [b"text"]
    with whole_file("/dev/null") as raw:
        raw.write(b"text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("error", [None, ValueError(), KeyboardInterrupt()])
def test_what_ends_too_early_in_a_pipe_does_not_read_as_whole(
    tmp_path: Path, kind: str, error: BaseException | None
) -> None:
    pipe, read = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    table = pa.table({"n": range(ROWS)})  # a group, which is written before the error
    with (
        pytest.raises(type(error)) if error is not None else nullcontext(),
        open_sink(pipe, kind) as out,
    ):
        out.table(table)
        if error is not None:
            raise error
    reader.join()
    open_file = parquet.ParquetFile if kind == "parquet" else pa.ipc.open_file
    if error is None:
        open_file(pa.BufferReader(read[0]))
    else:
        assert not read[0]


def irregular(count: int) -> str:
    """Lines of A and B by chance: numbers of regular answers would fit into a page."""
    return "".join(f"{kind}()\n" for kind in Random(0).choices("AB", k=count))


def test_an_interrupted_run_leaves_no_footer_in_a_pipe(tmp_path: Path) -> None:
    """The interrupt comes when a part has gone into the pipe, which cannot hold all."""
    (tmp_path / "e.core").write_text(irregular(6_000))
    os.mkfifo(tmp_path / "pipe")
    query = "SELECT * WHERE A ; A ; A WITHIN 20 EVENTS"
    command = ["run", query, "e.core", "--format", "parquet", "-o", "pipe"]
    with subprocess.Popen([sys.executable, "-m", "cerlab", *command], cwd=tmp_path) as process:
        with (tmp_path / "pipe").open("rb") as pipe:
            read = pipe.read(1 << 16)
            process.send_signal(signal.SIGINT)
            read += pipe.read()
        assert process.wait() == 130
    assert not read.endswith(b"PAR1")


@pytest.mark.parametrize("form", ["ndjson", "parquet", "table"])
def test_a_device_without_room_is_named(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    (tmp_path / "e.core").write_text("A()\n" * 2000)
    query = ["run", "A", "e.core", "--format", form]
    monkeypatch.chdir(tmp_path)
    assert "CER0807: No space left on device" in cli(*query, "-o", "/dev/full", status=2).err
    if form != "parquet":  # at its end, a process closes its standard output
        command = ["bash", "-c", '"$@" > /dev/full', "bash", sys.executable, "-m", "cerlab", *query]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        assert process.returncode == 2, process.stderr
        assert "CER0807: No space left on device" in process.stderr
        assert "Traceback" not in process.stderr


@pytest.mark.parametrize("name", ["/dev/stdout", "link"])
def test_standard_output_as_a_file_keeps_what_is_in_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "link").symlink_to("/dev/stdout")
    (tmp_path / "e.core").write_text("A()\n")
    command = f"echo first; {sys.executable} -m cerlab run A e.core -o {name}; echo last"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run(["bash", "-c", command], stdout=out, cwd=tmp_path, check=True)
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines == ["first", '{"start": 0, "end": 0, "positions": [0]}', "last"]


@pytest.mark.parametrize("name", ["/dev/fd/{}", "/proc/self/fd/{}"])
def test_a_descriptor_as_a_file(tmp_path: Path, name: str) -> None:
    with (tmp_path / "out").open("wb", buffering=0) as out:
        out.write(b"first ")
        with whole_text(name.format(out.fileno())) as file:
            file.write("second ")
        out.write(b"last")
    assert (tmp_path / "out").read_text() == "first second last"


@pytest.mark.parametrize(
    "name",
    [".", "no/such/folder/out", "e.core/out", "a\0b", "none/../e.core", "e.core/../e.core", "link"],
)
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, name: str, cli: Cli) -> None:
    (tmp_path / "e.core").write_text("A()\n")
    (tmp_path / "link").symlink_to("none/../e.core")
    place = str(tmp_path / name)
    with pytest.raises(OSError, match=r"Is a|No such|Not a|Invalid") as caught, whole_file(place):
        pass
    assert caught.value.filename == place
    assert place in cli("run", "A", tmp_path / "e.core", "-o", place, status=2).err
    assert (tmp_path / "e.core").read_text() == "A()\n"


def test_a_file_that_may_not_be_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.write_text("before")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write to all
    with pytest.raises(PermissionError), whole_text(out) as file:
        file.write("after")
    assert out.read_text() == "before"


WITH_A_FILE_LIMIT = """
import resource, sys
sys.dont_write_bytecode = True  # which Python would cut off, and keep
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))
from cerlab.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("form", ["ndjson", "parquet"])
def test_on_a_full_disk_there_is_no_file(tmp_path: Path, form: str) -> None:
    (tmp_path / "e.core").write_text(irregular(2_000))
    query = "SELECT * WHERE A ; A WITHIN 20 EVENTS"
    command = ["run", query, "e.core", "-o", "out", "--format", form]
    process = subprocess.run(
        [sys.executable, "-c", WITH_A_FILE_LIMIT, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 2, process.stderr
    assert "CER0807: File too large: out" in process.stderr
    assert os.listdir(tmp_path) == ["e.core"]


@pytest.mark.parametrize("form", ["ndjson", "parquet"])
def test_a_small_disk_that_fills_up_is_left_empty(tmp_path: Path, form: str) -> None:
    """One of a page in memory, which is mounted for this process alone."""
    own = ["unshare", "--map-root-user", "--mount", "bash", "-c"]
    mount = f"mount -t tmpfs -o size=4k none {tmp_path / 'disk'}"
    (tmp_path / "disk").mkdir()
    try:
        subprocess.run([*own, mount], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this system lets nobody mount a disk of his own")
    (tmp_path / "e.core").write_text(irregular(2_000))
    command = ["run", "SELECT * WHERE A ; A WITHIN 20 EVENTS", "e.core", "-o", "disk/out"]
    script = f'{mount} && "$@"; echo $? $(ls -A disk)'
    call = [*own, script, "-", sys.executable, "-m", "cerlab", *command, "--format", form]
    process = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert process.stdout == "2\n"
    assert "CER0807: No space left on device: disk/out" in process.stderr


SAME: dict[str, Callable[[Path], object]] = {
    "e.core": lambda path: None,
    "./e.core": lambda path: None,
    "link": lambda path: path.with_name("link").symlink_to(path),
    "hard": lambda path: os.link(path, path.with_name("hard")),
}


@pytest.mark.parametrize("option", ["-o", "--quarantine"])
@pytest.mark.parametrize("name", SAME)
def test_the_input_is_no_output(
    tmp_path: Path, option: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "e.core"
    path.write_text("A()\nB(\n")
    SAME[name](path)
    assert run(tmp_path, "A", "e.core", option, name) == 2
    assert "CER0825" in capsys.readouterr().err
    assert path.read_text() == "A()\nB(\n"


@pytest.mark.parametrize("command", ["- -o e.core < e.core", "e.core >> e.core"])
def test_the_input_is_no_output_by_redirection(tmp_path: Path, command: str) -> None:
    (tmp_path / "e.core").write_text("A()\n")
    command = f"{sys.executable} -m cerlab run A {command}"
    process = subprocess.run(
        ["bash", "-c", command], capture_output=True, cwd=tmp_path, check=False
    )
    assert process.returncode == 2
    assert b"CER0825" in process.stderr
    assert (tmp_path / "e.core").read_text() == "A()\n"


def run(folder: Path, *command: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return main(["run", *command])


def test_query_schema_and_the_other_output_are_no_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "e.core").write_text("A()\n")
    (tmp_path / "q.ceql").write_text("SELECT * WHERE A")
    (tmp_path / "s").write_text("CREATE STREAM S { EVENT A { } }")
    before = {path: path.read_text() for path in tmp_path.iterdir()}
    for command in (
        ("q.ceql", "e.core", "-o", "q.ceql"),
        ("A", "e.core", "--schema", "s", "-o", "s"),
        ("A", "e.core", "--quarantine", "new", "-o", "./new"),
    ):
        assert run(tmp_path, *command) == 2
        assert "CER0825" in capsys.readouterr().err
    assert before == {path: path.read_text() for path in tmp_path.iterdir()}
    assert run(tmp_path, "A", "e.core", "-o", "/dev/null", "--quarantine", "/dev/null") == 0


def test_a_reader_refuses_to_write_rows_aside_into_what_it_reads(tmp_path: Path) -> None:
    path = tmp_path / "e.core"
    path.write_text("A()\nB(\n")
    for read in (cerlab.Stream.read, lambda *a, **b: list(cerlab.io.batches(*a, **b))):
        with pytest.raises(cerlab.UsageError, match="CER0825"):
            read(path, quarantine=path)
    assert path.read_text() == "A()\nB(\n"


ENDS = {signal.SIGTERM: 143, signal.SIGHUP: 143 - 15 + 1, signal.SIGINT: 130, signal.SIGKILL: -9}


@pytest.mark.parametrize(("number", "form"), [*zip(ENDS, cycle(("ndjson", "parquet")))])
def test_a_run_that_is_stopped_leaves_no_file(
    tmp_path: Path, number: signal.Signals, form: str
) -> None:
    command = ["run", "A", "-", "-o", "out", "--quarantine", "aside", "--format", form]
    process = subprocess.Popen(
        [sys.executable, "-m", "cerlab", *command],
        stdin=subprocess.PIPE,
        cwd=tmp_path,
    )
    assert process.stdin is not None
    process.stdin.write(b"A()\nB(\n" * 5000)
    process.stdin.flush()
    while len(os.listdir(tmp_path)) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    process.stdin.close()
    assert process.wait() == ENDS[number]
    left = os.listdir(tmp_path)
    assert not {"out", "aside"} & set(left)
    assert number is signal.SIGKILL or not left


def test_files_that_do_not_exist_are_the_same_by_what_they_resolve_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("new")
    with pytest.raises(cerlab.UsageError, match="CER0825"):
        refuse_same({"a": tmp_path / "new", "b": tmp_path / "link"}, {})
    refuse_same({"a": tmp_path / "new", "b": None}, {"c": tmp_path / "other", "d": None})


def test_of_two_writers_the_last_whole_file_stays(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with whole_text(out) as first:
        first.write("first" * 1000)
        with whole_text(out) as second:
            second.write("second")
        assert out.read_text() == "second"
    assert out.read_text() == "first" * 1000
    assert os.listdir(tmp_path) == ["out"]


def test_an_error_after_bad_rows_leaves_no_quarantine(tmp_path: Path) -> None:
    (tmp_path / "e.core").write_text("A(t=2)\nB(\nA(t=1)\n")
    query = "SELECT * WHERE A WITHIN 1 SECOND"
    assert run(tmp_path, query, "e.core", "--time", "t:s", "--quarantine", "aside") == 2
    assert os.listdir(tmp_path) == ["e.core"]
    assert run(tmp_path, "A", "e.core", "--limit", "1", "--quarantine", "aside") == 0
    assert sorted(os.listdir(tmp_path)) == ["aside", "e.core"]
