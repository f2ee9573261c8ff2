"""A picture says nothing on standard error, whatever this machine's font settings are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cerlab.viz.render import without_font_warnings

DRAWN_TWICE = """
import os, cerlab
from cerlab.viz import svg
cea = cerlab.parse_query("SELECT * WHERE A ; B").cea
assert svg(cea) == svg(cea)
os.write(2, b"afterwards\\n")
"""


def test_settings_that_are_too_new_for_the_renderer_are_not_told(tmp_path: Path) -> None:
    pytest.importorskip("pygraphviz", reason="pygraphviz draws")
    settings = tmp_path / "fonts.conf"
    settings.write_text(
        '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">\n'
        "<fontconfig><dir>/usr/share/fonts</dir><of-the-future/></fontconfig>\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", DRAWN_TWICE],
        env={**os.environ, "FONTCONFIG_FILE": str(settings)},
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert process.stderr == "afterwards\n"


def test_everything_else_is_passed_on_in_order(capfd: pytest.CaptureFixture[str]) -> None:
    os.write(2, b"before\n")
    with without_font_warnings():
        os.write(2, b"Error: one\nFontconfig warning: two\nError: three\n")
    os.write(2, b"after")
    assert capfd.readouterr().err == "before\nError: one\nError: three\nafter"


def test_what_raises_inside_leaves_standard_error_in_place(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(ValueError, match="inside"), without_font_warnings():
        raise ValueError("inside")
    os.write(2, b"still here")
    assert capfd.readouterr().err == "still here"
