"""``cerlab fmt``: a query in its canonical form."""

from __future__ import annotations

import argparse
import re
import sys

from cerlab.cli.options import add_query, read_query
from cerlab.cli.status import OK


def add_options(parser: argparse.ArgumentParser) -> None:
    """QUERY, and how to read it."""
    add_query(parser)


def fmt(arguments: argparse.Namespace) -> int:
    """``cerlab fmt``."""
    query = read_query(arguments)
    if re.search(r"--|/\*", query.source.text):
        print("warning: comments are not part of the canonical form", file=sys.stderr)
    if query.schema is not None and arguments.schema is None:
        print(query.schema)
    print(query if query.source.is_query else query.formula)
    return OK
