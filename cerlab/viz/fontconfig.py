"""What Fontconfig says of a machine's fonts, kept from those who only want a picture."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile

STDERR = 2
"""The file descriptor that C libraries write to, which ``sys.stderr`` does not see."""


@contextmanager
def without_font_warnings() -> Iterator[None]:
    """Hold back what Fontconfig warns of on standard error; everything else comes afterwards.

    The one in pygraphviz's wheel warns of settings that are newer than itself. In a notebook that
    would stand in red above the first picture.
    """
    try:
        real = os.dup(STDERR)
    except OSError:  # the program runs without standard error
        yield
        return
    with TemporaryFile() as buffer:
        os.dup2(buffer.fileno(), STDERR)
        try:
            yield
        finally:
            os.dup2(real, STDERR)
            os.close(real)
            buffer.seek(0)
            for line in buffer:
                if not line.startswith(b"Fontconfig warning"):
                    os.write(STDERR, line)
