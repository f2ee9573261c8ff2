"""``cerlab explain``: what the catalogue says of an error code."""

from __future__ import annotations

import argparse

from cerlab.catalogue import CLASSES, entries, entry_of, entry_text
from cerlab.cli.status import OK


def add_options(parser: argparse.ArgumentParser) -> None:
    """CODE, which may be left out."""
    parser.add_argument("codes", metavar="CODE", nargs="*", help="as CER0802 (default: list all)")


def run(arguments: argparse.Namespace) -> int:
    """``cerlab explain``: cause, example and mend of each code; without one, a line for each."""
    if arguments.codes:
        print("\n\n".join(entry_text(entry_of(code)) for code in arguments.codes))
        return OK
    last = ""
    for entry in entries().values():
        if (kind := entry.code[3:5]) != last:
            print(f"{CLASSES[kind]}")
            last = kind
        print(f"  {entry.code}  {entry.cause}")
    return OK
