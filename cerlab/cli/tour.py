"""``cerlab demo``: the tour that the README starts with."""

from __future__ import annotations

import argparse
import sys

from cerlab import demo
from cerlab.cli.status import OK


def add_options(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(_: argparse.Namespace) -> int:
    """``cerlab demo``."""
    demo.run(sys.stdout)
    return OK
