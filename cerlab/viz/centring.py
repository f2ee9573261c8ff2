"""Words in the middle of their boxes and clear of the lines, whatever font draws them.

Graphviz places a line of an HTML-like label by its left end, as wide as the fonts of its machine
make it. A reader's font is another one, and then the line stands beside the middle.
"""

from __future__ import annotations

import re

_NODE = re.compile(r'<g class="node">.*?</g>', re.S)
_EDGE = re.compile(r'<g class="edge">.*?</g>', re.S)
_ELEMENT = re.compile(r"<(polygon|path|ellipse|text) ([^>]*)>")
_NUMBER = r"-?\d+(?:\.\d+)?"
_PAIR = re.compile(rf"({_NUMBER}),{_NUMBER}")
_LEFT = re.compile(rf'text-anchor="start" x="{_NUMBER}"')
_CENTRE = re.compile(rf'\bcx="({_NUMBER})"')


def centre_words(svg: str) -> str:
    """An SVG of Graphviz's with each line in the middle of the node or cell that is drawn before.

    A line with a small word beside it is two texts, which stay where they are.

    >>> cell = '<polygon points="0,0 0,9 60,9 60,0"/><text text-anchor="start" x="9" y="5">'
    >>> svg = centre_words(f'<g class="node">{cell}hi</text></g>')
    >>> svg[svg.index("<text") :]
    '<text text-anchor="middle" x="30" y="5">hi</text></g>'
    """
    return _NODE.sub(lambda node: _words_of(node[0]), svg)


def raise_words(svg: str) -> str:
    """An SVG of Graphviz's with the words of edges a little higher, off the line below them."""
    return _EDGE.sub(lambda edge: edge[0].replace("<text ", '<text dy="-2" '), svg)


def _words_of(node: str) -> str:
    if "baseline-shift" in node:
        return node
    middle: float | None = None

    def place(part: re.Match[str]) -> str:
        nonlocal middle
        if part[1] != "text":
            middle = _middle(part[2])
            return part[0]
        if middle is None:
            return part[0]
        return _LEFT.sub(f'text-anchor="middle" x="{middle:g}"', part[0])

    return _ELEMENT.sub(place, node)


def _middle(shape: str) -> float | None:
    """The middle of a shape, from left to right."""
    centre = _CENTRE.search(shape)
    if centre:
        return float(centre[1])
    across = [float(x) for x in _PAIR.findall(shape)]
    return round((min(across) + max(across)) / 2, 2) if across else None
