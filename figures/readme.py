"""The picture of the README: the events and the answers of its first block.

python figures/readme.py
"""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import cerlab

ROOT = Path(__file__).parents[1]
OUT = Path(__file__).with_suffix(".svg")


def draw() -> str:
    """Return the timeline of the query and the trades that the README begins with."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert block is not None
    names: dict[str, Any] = {}
    with redirect_stdout(StringIO()):
        exec(block[1], names)
    return cerlab.timeline(names["query"], names["trades"], by="name", label="price").svg()


def main() -> None:
    """Write the figure, the same bytes every time."""
    OUT.write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
