"""The directory of compiled kernels, and what is removed from it."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

MOST_BYTES = 256 << 20
"""Of all entries; those of one version of the kernels are about 10 MB."""


def directory() -> Path:
    """Where the entries are."""
    place = os.environ.get("NUMBA_CACHE_DIR")
    return (Path(place) if place else _user_cache()) / "kernels"


def read(entry: Path) -> bytes | None:
    """What is in an entry, which counts as its last use; None where there is none."""
    try:
        payload = entry.read_bytes()
    except OSError:
        return None
    with suppress(OSError):  # a cache that may only be read
        os.utime(entry)
    return payload


def write(entry: Path, payload: bytes) -> None:
    """Keep an entry; warns where the directory cannot be written to."""
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=entry.parent, prefix=".", delete=False) as file:
            file.write(payload)
        Path(file.name).replace(entry)
        _remove_oldest(entry.parent)
    except OSError as error:
        warnings.warn(
            f"compiled kernels cannot be kept ({error}); NUMBA_CACHE_DIR names another place",
            RuntimeWarning,
            stacklevel=2,
        )


def _user_cache() -> Path:
    match sys.platform:
        case "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "cerlab" / "Cache"
        case "darwin":
            return Path.home() / "Library" / "Caches" / "cerlab"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cerlab"


def _remove_oldest(place: Path) -> None:
    """Keep the entries used last, `MOST_BYTES` of them."""
    entries = [(each.stat(), each) for each in place.glob("[!.]*")]
    total = sum(status.st_size for status, _ in entries)
    for status, entry in sorted(entries, key=lambda pair: pair[0].st_mtime_ns):
        if total <= MOST_BYTES:
            return
        total -= status.st_size
        entry.unlink(missing_ok=True)
