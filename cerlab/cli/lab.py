"""``cerlab lab``: the page to try queries on, served here or written as static files."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from pathlib import Path

from cerlab.cli.status import OK
from cerlab.lab.serve import Lab, build


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``cerlab lab``."""
    parser.add_argument("--port", type=int, default=0, help="a free one by default")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument(
        "--build",
        metavar="DIR",
        type=Path,
        help="write the lab as static files that run in any browser, without a server",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve the lab until it is interrupted, or build it."""
    if arguments.build is not None:
        build(arguments.build)
        print(f"{arguments.build}: serve it as static files", file=sys.stderr)
        return OK
    with Lab(arguments.port) as lab:
        print(lab.url, flush=True)
        if not arguments.no_browser:
            webbrowser.open(lab.url)
        lab.serve_forever()
    return OK
