"""The directive ``imports``: which packages of cerlab import which, drawn when the site is built.

An arrow that follows from two others is left out, so that the picture shows the layers.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import networkx
from docutils import nodes
from docutils.parsers.rst import Directive

from cerlab.viz.graph import Edge, EdgeKind, Graph, Node, NodeKind
from cerlab.viz.render import svg

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # the tests of the project are not installed

from proofs_tests.import_graph import graph_of, modules  # noqa: E402


class Imports(Directive):
    """The graph of imports between the packages of `cerlab`."""

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the page."""
        return [nodes.raw("", f'<figure class="imports">{svg(picture())}</figure>', format="html")]


def picture() -> Graph:
    """Return the packages and modules directly below `cerlab`, and the imports between them."""
    among = networkx.DiGraph()
    for name, imported in graph_of(modules(ROOT / "cerlab")).items():
        among.add_edges_from((_room(name), _room(other)) for other in imported)
    among.remove_nodes_from(("cerlab", "__main__"))  # the front door loads every public name
    among.remove_edges_from(list(networkx.selfloop_edges(among)))
    shown = networkx.transitive_reduction(among)
    return Graph(
        "imports",
        f"Imports: {among.number_of_nodes()} packages, {among.number_of_edges()} imports, "
        f"{shown.number_of_edges()} of them drawn",
        tuple(Node(name, name, NodeKind.PART) for name in sorted(shown)),
        tuple(Edge(a, b, "", EdgeKind.CHILD) for a, b in sorted(shown.edges)),
        direction="TB",
    )


def _room(name: str) -> str:
    return name.split(".")[1] if "." in name else name


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("imports", Imports)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
