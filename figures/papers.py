"""The figures of the papers, redrawn from live values.

    python figures/papers.py

writes `figures/papers/NAME.svg` for each of `FIGURES`; `figures/README.md` says which figure of
which paper that is, and why others are not drawn. Streams with their answers are timelines, the
machines and the tECS are laid out by the Graphviz of pygraphviz, the curves are Matplotlib's.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random

import gadgets
import matplotlib as mpl
from matplotlib.figure import Figure

import cerlab
from cerlab.automata.automaton import AnchoredCea, LabelTransition, Mark, Transition, Ucea
from cerlab.automata.deterministic import DeterministicCea
from cerlab.automata.epsilon import smaller
from cerlab.compile.cel_to_vcea import cel_to_vcea
from cerlab.compile.pattern import as_pattern
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.engine.reference.tecs import TecsEvaluation
from cerlab.io.output import whole_text
from cerlab.model.event import Event
from cerlab.predicates.syntax import (
    EVERYTHING,
    And,
    Attribute,
    Comparison,
    Constant,
    Operator,
    TypeIs,
)
from cerlab.viz import svg
from cerlab.viz.tecs import tecs_snapshots
from cerlab.viz.timeline import timeline
from cerlab.viz.timeline_value import own_numbers

OUT = Path(__file__).parent / "papers"
EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name: str, events: str = "events.core") -> tuple[cerlab.Query, cerlab.Stream]:
    """A query and its stream, of the folder of examples."""
    query = as_pattern(next((EXAMPLES / name).glob("query.*")).read_text())
    return query, cerlab.Stream.read(EXAMPLES / name / events)


def core_figure_1_q1() -> str:
    """Three sales, on the stream of Figure 3."""
    return cerlab.timeline(*example("core_q1"), by="name").svg()


def core_figure_1_q2() -> str:
    """Two trades of equal name and volume within a minute, on a stream of ours, by its time."""
    query, _ = example("core_q2", "events.csv")
    stream = cerlab.Stream.read(EXAMPLES / "core_q2" / "events.csv", time="time", unit="ms")
    return cerlab.timeline(query, stream, axis="time", by="name").svg()


def core_figure_1_q3() -> str:
    """An upward trend: with MAX, as the query has it, and without."""
    query, stream = example("core_q3", "events.ndjson")
    return cerlab.timeline(query, stream, strategies=["ALL", "MAX"], by="name", label="price").svg()


def core_figure_3_automaton() -> str:
    """The CEA of Q1."""
    return svg(example("core_figure3")[0].cea)


def core_figure_3_runs() -> str:
    """The stream, and what the accepting runs on it mark."""
    return cerlab.timeline(*example("core_figure3"), by="name").svg()


def core_figure_5(case: str) -> str:
    """What `union` makes of two nodes in a case, or `merge` of several."""
    return svg(gadgets.gadget(case))


def core_figure_6(after: int) -> str:
    """The tECS of Algorithm 1, and which state holds what, after one of the events."""
    query, stream = example("core_figure3")
    return svg(list(tecs_snapshots(query.plan, query.machine, stream))[after])


def core_figure_10() -> str:
    """The VCEA of an atomic formula."""
    return svg(cel_to_vcea(cerlab.parse_formula("R")))


def foundations_figure_1() -> str:
    """The stream of temperatures and humidities, and what phi_1 to phi_4 find on it."""
    stream = cerlab.Stream.read(EXAMPLES / "fire_phi1" / "events.core")
    fire = "x.tmp > 40 AND y.hum <= 25 AND x.id = 0 AND y.id = 0"
    rise = "FILTER x.hum < 30 AND z.hum > 60"
    formulas = {
        "φ1": f"(T AS x ; H AS y) FILTER {fire}",
        "φ2": f"((T AS x ; H AS y) OR (H AS y ; T AS x)) FILTER {fire}",
        "φ3": f"(H AS x ; (T AS y FILTER y.id = 1)+ ; H AS z) {rise} AND x.id = 1 AND z.id = 1",
        "φ4": f"(H AS x ; (T AS y FILTER y.id = x.id)+ ; H AS z) {rise} AND x.id = z.id",
    }
    rows = {name: cerlab.evaluate(text, stream, logic="fo") for name, text in formulas.items()}
    valued = [
        Event(e.type, {**e.attributes, "value": e.attributes.get("hum", e.attributes.get("tmp"))})
        for e in stream
    ]
    return timeline(rows, valued, label="value").svg()


def foundations_figure_2() -> str:
    """The CEA that marks two humidities and any high temperatures between them."""
    humid = TypeIs("H")
    hot = And(TypeIs("T"), Comparison(Operator.GT, Attribute("temp"), Constant(40)))
    Delta = (
        Transition(0, EVERYTHING, Mark.SKIP, 0),
        Transition(0, humid, Mark.TAKE, 1),
        Transition(1, EVERYTHING, Mark.SKIP, 1),
        Transition(1, hot, Mark.TAKE, 1),
        Transition(1, humid, Mark.TAKE, 2),
    )
    return svg(AnchoredCea(3, Delta, frozenset({0}), frozenset({2})))


LENGTHS = range(200, 2001, 200)


def foundations_figure_4() -> str:
    """What is kept before the last event fires, in numbers instead of seconds and megabytes."""
    figure = Figure(figsize=(8, 3.2))
    figure.subplots_adjust(left=0.08, right=0.98, bottom=0.16, top=0.9, wspace=0.06)
    queries = {"Q1: A ; B ; C": (["A", "A ; B"], "ABE"), "Q2: A ; B ; C ; D": (
        ["A", "A ; B", "A ; B ; C"], "ABCE")}  # fmt: skip
    for axis, (title, (prefixes, alphabet)) in zip(
        figure.subplots(1, 2, sharey=True), queries.items(), strict=True
    ):
        rng = Random(2021)
        events = [{"type": rng.choice(alphabet)} for _ in range(max(LENGTHS) - 1)]
        partial_matches = [
            sum(cerlab.count(prefix, events[: n - 1]) for prefix in prefixes) for n in LENGTHS
        ]
        nodes = nodes_after(title.split(": ")[1], events)
        axis.plot(LENGTHS, partial_matches, "o-", color="#e69f00", label="partial matches")
        axis.plot(LENGTHS, nodes, "^-", color="#0072b2", label="nodes of the tECS, all ever made")
        axis.set_yscale("log")
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("events")
    figure.axes[0].legend(fontsize=8)
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def nodes_after(formula: str, events: Sequence[dict[str, str]]) -> list[int]:
    """How many nodes the tECS has made before the last of so many events."""
    running = TecsEvaluation(DeterministicCea(as_pattern(formula).cea))
    made = []
    for j, event in enumerate(events):
        running.advance(Event(event["type"]), j)
        made.append(running.tecs.created)
    return [made[n - 2] for n in LENGTHS]


def so_cel_figure_1() -> str:
    """Plantations that may freeze: all answers, and the largest of each end."""

    @cerlab.predicate
    def increasing(values: Sequence[float]) -> bool:
        return all(a < b for a, b in pairwise(values))

    readings = ["T-2", "H30", "H20", "T-1", "H27", "T2", "H45", "H50", "T-2", "H65"]
    events = [{"type": each[0], "value": int(each[1:])} for each in readings]
    cold = "T[value < 0] AND increasing(HS.value) AND LH[value > 60]"
    text = f"SELECT * WHERE (T ; H+ AS HS ; H AS LH) FILTER {cold}"
    return cerlab.timeline(
        text, events, strategies=["ALL", "MAX"], label="value", shown_answers=10
    ).svg()


def so_cel_figure_2() -> str:
    """The automaton that marks an A if a B comes later, and does not mark the B."""
    skip: frozenset[str] = frozenset()
    Delta = (
        LabelTransition(0, EVERYTHING, skip, 0),
        LabelTransition(0, TypeIs("A"), frozenset("A"), 1),
        LabelTransition(1, EVERYTHING, skip, 1),
        LabelTransition(1, TypeIs("B"), skip, 2),
    )
    return svg(Ucea(3, Delta, frozenset({0}), frozenset({2})))


SAME_STOCK = "<type = 'B'>^ -> r1 . <TRUE>* . <type = 'S' AND id = r1.id>^"


def srt_table_1() -> str:
    """The stock ticks, and what e_1 shows on them."""
    columns = [
        "BBBSSB",
        (1, 1, 2, 1, 1, 2),
        (22, 24, 32, 70, 68, 33),
        (300, 225, 1210, 760, 2000, 95),
    ]
    ticks = [
        {"type": t, "id": i, "price": p, "volume": v} for t, i, p, v in zip(*columns, strict=True)
    ]
    return cerlab.timeline(SAME_STOCK, ticks, label="id").svg()


def srt_figure_1() -> str:
    """The transducer of e_1."""
    return svg(smaller(sremo_to_srt(cerlab.parse_sremo(SAME_STOCK))))


FIGURES: dict[str, Callable[[], str]] = {
    **{f.__name__: f for f in (core_figure_1_q1, core_figure_1_q2, core_figure_1_q3)},
    **{f.__name__: f for f in (core_figure_3_automaton, core_figure_3_runs, core_figure_10)},
    **{f"core_figure_5_{case}": partial(core_figure_5, case) for case in gadgets.CASES},
    **{f"core_figure_6_after_{n}": partial(core_figure_6, n) for n in range(7)},
    **{f.__name__: f for f in (foundations_figure_1, foundations_figure_2, foundations_figure_4)},
    **{f.__name__: f for f in (so_cel_figure_1, so_cel_figure_2, srt_table_1, srt_figure_1)},
}


@contextmanager
def settings() -> Iterator[None]:
    """What a figure needs to be the same bytes every time."""
    with own_numbers(), mpl.rc_context({"svg.hashsalt": "cerlab", "svg.fonttype": "none"}):
        yield


def main() -> None:
    """Write all figures, the same bytes every time."""
    OUT.mkdir(exist_ok=True)
    for name, draw in FIGURES.items():
        with settings(), whole_text(OUT / f"{name}.svg") as file:
            file.write(draw())


if __name__ == "__main__":
    main()
