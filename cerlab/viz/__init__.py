"""Pictures of formulas, machines, tables and the tECS, as text, DOT, graphs and images.

`graph_of` returns the picture of a value as data; `dot_text`, `svg`, `drawing`, `to_networkx` and
`to_graphviz` accept a value or such a picture.

>>> from cerlab import parse_formula
>>> graph_of(parse_formula("A ; B")).title
'CEL formula of 3 nodes: A ; B'
"""

from cerlab.viz import deterministic, formulas, machines, tecs
from cerlab.viz.dot import dot_text
from cerlab.viz.graph import EdgeKind, Graph, NodeKind, alt_text, graph_of
from cerlab.viz.networks import from_networkx, plain_networkx, to_networkx
from cerlab.viz.render import drawing, svg, to_graphviz
from cerlab.viz.tikz import machine_tikz

__all__ = [
    "EdgeKind",
    "Graph",
    "NodeKind",
    "alt_text",
    "deterministic",
    "dot_text",
    "drawing",
    "formulas",
    "from_networkx",
    "graph_of",
    "machine_tikz",
    "machines",
    "plain_networkx",
    "svg",
    "tecs",
    "to_graphviz",
    "to_networkx",
]
