r"""TikZ pictures of machines, to be read and edited: states in layers from left to right.

A picture needs ``\usetikzlibrary{automata, positioning}``. A state stands in the column of its
distance from the initial states, relative to its neighbours, so that moving one moves what follows.
The same machine has the same picture, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable

from cerlab.automata.encoding import Machine
from cerlab.automata.registers.transducer import RegisterTransition, Transducer
from cerlab.predicates.encoding import check_depth
from cerlab.viz.graph import graph_of

_HEAD = r"""%% \usetikzlibrary{automata, positioning}
\begin{tikzpicture}[->, auto, node distance=16mm and %dmm, initial text=,
    says/.style={align=center, font=\ttfamily\scriptsize}]"""

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "`": r"\textasciigrave{}",
        "•": r"$\bullet$",
        "∘": r"$\circ$",
        "↓": r"$\downarrow$",
        "ε": r"$\varepsilon$",
    }
)


def machine_tikz(A: Machine | Transducer) -> str:
    r"""The machine as a ``tikzpicture``; edges say what they do in other pictures.

    Raises `ResourceLimit` for predicates that are too deep.

    >>> from cerlab.automata.automaton import IntervalCea, Mark, Transition
    >>> from cerlab.predicates.syntax import TypeIs
    >>> Delta = (Transition(0, TypeIs("A_1"), Mark.TAKE, 1),)
    >>> print(machine_tikz(IntervalCea(2, Delta, frozenset({0}), frozenset({1}))), end="")
    % \usetikzlibrary{automata, positioning}
    \begin{tikzpicture}[->, auto, node distance=16mm and 34mm, initial text=,
        says/.style={align=center, font=\ttfamily\scriptsize}]
      \node[state, initial] (q0) {$0$};
      \node[state, accepting, right=of q0] (q1) {$1$};
      \path (q0) edge node[says] {type = 'A\_1' / $\bullet$} (q1);
    \end{tikzpicture}
    """
    for t in A.Delta:
        if not isinstance(t, RegisterTransition):
            check_depth(t.predicate)
    graph = graph_of(A)
    number = {node.id: q for q, node in enumerate(graph.nodes)}
    initial = [q for q, node in enumerate(graph.nodes) if node.is_initial]
    edges = [(number[e.source], e.label, number[e.target]) for e in graph.edges]
    columns = layers(A.states, initial, [(source, target) for source, _, target in edges])
    place = {q: (c, r) for c, column in enumerate(columns) for r, q in enumerate(column)}
    widest = max((len(text) for _, text, _ in edges), default=0)
    lines = [_HEAD % (10 + 3 * widest // 2)]  # a letter is about 1.5mm wide
    for c, column in enumerate(columns):
        for r, q in enumerate(column):
            options = ["state", *["initial"] * (q in initial), *["accepting"] * (q in A.F)]
            if r:
                options.append(f"below=of q{column[r - 1]}")
            elif c:
                options.append(f"right=of q{columns[c - 1][0]}")
            lines.append(rf"  \node[{', '.join(options)}] (q{q}) {{${q}$}};")
    says: dict[tuple[int, int], list[str]] = {}
    for source, text, target in edges:
        says.setdefault((source, target), []).append(latex_text(text))
    for (source, target), texts in says.items():
        shape = _shape(source, target, place, both=(target, source) in says)
        label = r" \\ ".join(texts)
        lines.append(rf"  \path (q{source}) edge{shape} node[says] {{{label}}} (q{target});")
    return "\n".join([*lines, r"\end{tikzpicture}", ""])


def layers(states: int, initial: list[int], moves: Iterable[tuple[int, int]]) -> list[list[int]]:
    """All states by their distance from the initial ones; what cannot be reached starts anew.

    >>> layers(4, [0], [(0, 2), (2, 0), (1, 3)])
    [[0, 1], [2, 3]]
    """
    after: dict[int, list[int]] = {}
    for source, target in moves:
        after.setdefault(source, []).append(target)
    columns: list[list[int]] = []
    closed: set[int] = set()
    for roots in (initial, *([q] for q in range(states))):
        column = [q for q in roots if q not in closed]
        depth = 0
        while column:
            if depth == len(columns):
                columns.append([])
            columns[depth] += column
            closed.update(column)
            successors = dict.fromkeys(target for q in column for target in after.get(q, ()))
            column = [q for q in successors if q not in closed]
            depth += 1
    return columns


def _shape(source: int, target: int, place: dict[int, tuple[int, int]], *, both: bool) -> str:
    """How an edge leaves the straight line: a loop, one of two ways, or past states between."""
    if source == target:
        return "[loop above]"
    (column, row), (to_column, to_row) = place[source], place[target]
    past = (row == to_row and abs(column - to_column) > 1) or (
        column == to_column and abs(row - to_row) > 1
    )
    return "[bend left]" if both or past else ""


def latex_text(text: str) -> str:
    r"""The text for LaTeX: its special characters escaped, others that do not print as Python does.

    >>> print(latex_text("50%_{a}\n"))
    50\%\_\{a\}\textbackslash{}n
    """
    printable = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return printable.translate(_LATEX)
