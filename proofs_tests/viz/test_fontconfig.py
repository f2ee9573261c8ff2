"""Fonts: settings that Fontconfig warns of, and characters that no installed font has."""

from __future__ import annotations

import os
import shutil
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


BOXES = """
import warnings, cerlab
from cerlab.viz import drawing
cea = cerlab.parse_query("SELECT * WHERE `登录` AS `πώληση` FILTER `πώληση`[v > 1]").vcea
for form in ("svg", "png", "pdf"):
    with warnings.catch_warnings(record=True) as caught:
        drawing(cea, form)
    print(form, *(each.message for each in caught))
"""


@pytest.mark.parametrize("fonts", ["none", "latin and greek", "chinese"])
def test_characters_that_no_font_has_are_named(fonts: str, tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="its wheel has fonts")
    pytest.importorskip("pygraphviz", reason="pygraphviz draws")
    if fonts != "none":
        file = "mpl-data/fonts/ttf/DejaVuSans.ttf"
        shutil.copy(Path(matplotlib.__file__).parent / file, tmp_path)
    if fonts == "chinese":
        write_font(tmp_path / "chinese.ttf", "登录")
    settings = tmp_path / "fonts.conf"
    settings.write_text(
        '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">\n'
        f"<fontconfig><dir>{tmp_path}</dir><cachedir>{tmp_path}/cache</cachedir></fontconfig>\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", BOXES],
        env={**os.environ, "FONTCONFIG_FILE": str(settings), "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    svg, png, pdf = process.stdout.splitlines()
    assert svg == "svg"
    if fonts == "chinese":
        assert (png, pdf) == ("png", "pdf")
        return
    some = {"none": "A, D, H, L, N, R, a, b, ..", "latin and greek": "录, 登"}[fonts]
    assert png.startswith(f"png CER0925: no installed font has {some}, so the PNG shows boxes; ")
    assert pdf.startswith(f"pdf CER0925: no installed font has {some}, so the PDF shows boxes; ")


def write_font(path: Path, characters: str) -> None:
    """Write a font with an empty glyph for each of the characters."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.ttLib.tables._g_l_y_f import Glyph

    names = [".notdef", *(f"u{ord(c):04x}" for c in characters)]
    font = FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder(names)
    font.setupCharacterMap(dict(zip(map(ord, characters), names[1:], strict=True)))
    font.setupGlyf({name: Glyph() for name in names})
    font.setupHorizontalMetrics(dict.fromkeys(names, (500, 0)))
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable({"familyName": "Chinese", "styleName": "Regular"})
    font.setupOS2()
    font.setupPost()
    font.save(path)
