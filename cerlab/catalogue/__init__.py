"""The error catalogue: the cause of each code, the smallest example that raises it, and the fix.

The entries are text files beside this module, one for each class of codes; anyone can add one:

    CER0808 A missing query file
    $ cerlab check nowhere.ceql
    = Check the path, or write the query in place of the path.
    $ cerlab check "SELECT * WHERE A"

Lines before ``=`` are the example, lines after it the fix. ``>>>`` is Python (``...``
continues it), ``$`` a command; ``@ NAME = N`` sets a limit to N, and ``- NAME`` hides a
package. Each example raises exactly its code, and each fix runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

from cerlab.errors import UsageError, nearest

__all__ = ["CLASSES", "Entry", "entries", "entry_of", "entry_text", "markdown"]

CLASSES = {
    "01": "Syntax: the text is not in the language",
    "02": "Ill-formed: a condition of the definition is violated",
    "03": "Types: the schema does not allow it",
    "04": "Unsupported: another evaluator, logic or command may support it",
    "05": "Undecided: outside the decidable class",
    "06": "Limits: a stated size, depth or budget would be exceeded",
    "07": "Data: input that cannot be read as events, or as a file of cerlab",
    "08": "Usage: arguments that contradict each other",
    "09": "Warnings: accepted input without an effect, or with an unexpected one",
}
"""The meaning of the first two digits of a code."""

_MARKS = (">>> ", "... ", "$ ", "@ ", "- ")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the catalogue; lines of `example` and `fixed` begin with a mark of their kind."""

    code: str
    cause: str
    example: tuple[str, ...]
    fix: str
    fixed: tuple[str, ...]


@cache
def entries() -> dict[str, Entry]:
    """Return all entries by code, in the order of the codes."""
    by_code: dict[str, Entry] = {}
    for each in sorted(files(__name__).iterdir(), key=lambda file: file.name):
        if each.name.endswith(".txt"):
            for entry in _read_entries(each.read_text(encoding="utf-8")):
                if entry.code in by_code:
                    raise ValueError(f"{entry.code} has two entries")
                by_code[entry.code] = entry
    return dict(sorted(by_code.items()))


def entry_of(code: str) -> Entry:
    """Return the entry of a code, given in any case, with or without ``CER``.

    Raises `UsageError` for an unknown code.

    >>> entry_of("802").cause
    'A window in hours, minutes or seconds without a time attribute'
    """
    by_code = entries()
    digits = code.strip().upper().removeprefix("CER")
    name = f"CER{digits.zfill(4)}"
    if name not in by_code:
        hint = f"{nearest(name, by_code)}; a code is the first word of an error"
        raise UsageError("CER0839", f"there is no error code '{code}'", hint=hint)
    return by_code[name]


def entry_text(entry: Entry) -> str:
    """Return an entry as text: the code and its cause, the example, and the fix."""
    lines = [f"{entry.code}  {entry.cause}", "", *_code_lines(entry.example), "", f"  {entry.fix}"]
    if entry.fixed:
        lines += ["", *_code_lines(entry.fixed)]
    return "\n".join(lines)


def _code_lines(lines: tuple[str, ...]) -> Iterator[str]:
    for line in lines:
        if line.startswith("@ "):
            yield f"    # where {line[2:]}"
        elif line.startswith("- "):
            yield f"    # where {line[2:]} is not installed"
        else:
            yield f"    {line}"


def markdown() -> str:
    """Return the page of the manual: every entry under its class, each with an anchor."""
    parts = [
        "# Errors and warnings",
        "",
        "`cerlab explain CODE` prints the same. Every example below runs as a test and raises"
        " exactly its code.",
    ]
    last = ""
    for entry in entries().values():
        if (kind := entry.code[3:5]) != last:
            parts += ["", f"## {CLASSES[kind]}"]
            last = kind
        parts += ["", f'<a id="{entry.code.lower()}"></a>', "", f"### {entry.code}", ""]
        parts += [f"{_prose(entry.cause)}.", "", *_block(entry.example), "", _prose(entry.fix)]
        if entry.fixed:
            parts += ["", *_block(entry.fixed)]
    return "\n".join(parts) + "\n"


def _prose(text: str) -> str:
    """Return a text with tags, stars and underscores escaped."""
    return escape(text, quote=False).replace("*", r"\*").replace("_", r"\_")


def _block(lines: tuple[str, ...]) -> list[str]:
    language = "console" if any(line.startswith("$ ") for line in lines) else "pycon"
    return [f"```{language}", *(line.removeprefix("    ") for line in _code_lines(lines)), "```"]


def _read_entries(text: str) -> Iterator[Entry]:
    """Yield the entries of a file, ignoring lines that begin with ``#``."""
    for block in re.split(r"\n(?=CER\d{4} )", "\n" + re.sub(r"(?m)^#.*\n", "", text))[1:]:
        head, *lines = block.strip().split("\n")
        code, _, cause = head.partition(" ")
        at = next((i for i, line in enumerate(lines) if line.startswith("= ")), len(lines))
        example, fixed = tuple(lines[:at]), tuple(lines[at + 1 :])
        if at == len(lines) or any(not line.startswith(_MARKS) for line in (*example, *fixed)):
            raise ValueError(f"the entry of {code} has no fix, or a line without its mark")
        yield Entry(code, cause, example, lines[at].removeprefix("= "), fixed)
