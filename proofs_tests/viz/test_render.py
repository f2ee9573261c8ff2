"""Drawings: whole SVG with words for who does not see it, both themes, files, large pictures."""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest

import cerlab
from cerlab import ResourceLimit, Stream, Unsupported, UsageError
from cerlab.automata.automaton import AnchoredCea, IntervalCea, Mark, Transition
from cerlab.predicates import syntax as pred
from cerlab.viz import NodeKind, alt_text, dot_text, drawing, graph_of, svg, to_graphviz
from cerlab.viz.graph import DARK, LIGHT
from cerlab.viz.render import LEAST, MAX_NODES, html
from cerlab.viz.tecs import tecs_snapshot, tecs_snapshots
from proofs_tests.suite import random_suite
from proofs_tests.viz.values import random_value

_SVG = "{http://www.w3.org/2000/svg}"
A_THEN_B = cerlab.parse_query("SELECT * WHERE A ; B")


def nodes_of(root: ElementTree.Element) -> list[str]:
    """The ids of the nodes that an SVG shows."""
    groups = [g for g in root.iter(f"{_SVG}g") if g.get("class") == "node"]
    return [g.findtext(f"{_SVG}title") or "" for g in groups]


@random_suite(1_000)
def test_svg_shows_every_node_and_says_what_it_is(rng: Random) -> bool:
    graph = graph_of(random_value(rng), limit=50)
    picture = svg(graph)
    assert picture == svg(graph)
    root = ElementTree.fromstring(picture)
    assert root.get("role") == "img"
    assert (root[0].tag, root[1].tag) == (f"{_SVG}title", f"{_SVG}desc")
    assert root[0].text
    assert root[1].text
    assert {node.id for node in graph.nodes} <= set(nodes_of(root))
    assert not re.search(r"<!--|\bid=|<!DOCTYPE|Graphviz|[Gg]enerated", picture)
    return bool(graph.edges)


def test_the_words_of_a_small_machine() -> None:
    assert alt_text(graph_of(A_THEN_B.cea)) == (
        "CEA: 3 states, 3 transitions. Initial: 0. Final: 2. take from 0 to 1: type = 'A' / •. "
        "take from 1 to 2: type = 'B' / •. skip from 1 to 1: TRUE / ∘."
    )


def colours(picture: str) -> set[str]:
    return set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', picture))


def places_of_texts(picture: str) -> dict[str, tuple[str, float]]:
    """Return the anchor and the x of each text of an SVG, by its words."""
    texts = ElementTree.fromstring(picture).iter(f"{_SVG}text")
    return {t.text or "": (t.get("text-anchor", ""), float(t.get("x", ""))) for t in texts}


def test_words_of_several_sizes_stand_in_the_middle_whatever_the_font() -> None:
    """Words under a node's label, and in cells of a table, are centred in their surroundings."""
    why = cerlab.parse_query("SELECT * WHERE A").run([{"type": "A"}]).why(0)
    picture = svg(why.derivation)
    words = places_of_texts(picture)
    assert words["A"] == words["[0, 0]"] == words["A {0}"]
    (box,) = re.findall(r'<title>n0</title>.*? d="(.*?)"', picture, re.S)
    across = [float(x) for x, _ in re.findall(r"(-?[\d.]+),(-?[\d.]+)", box)]
    anchor, x = words["A"]
    assert anchor == "middle"
    assert x == pytest.approx((min(across) + max(across)) / 2, abs=0.01)
    cells = places_of_texts(svg(A_THEN_B.table))
    assert {anchor for text, (anchor, _) in cells.items() if not text.startswith("bit")} == {
        "middle"
    }
    assert cells["state"][1] == cells["1 {1}"][1] != cells["10"][1]


@pytest.mark.parametrize("of", ["why", "machine"])
def test_lines_of_a_label_are_further_apart_than_their_letters_are_high(of: str) -> None:
    query = cerlab.parse_query(
        "SELECT * WHERE (A OR B)+ AS high FILTER high[g > 1] AND high[p > 1]"
    )
    answer = query.run([{"type": "A", "g": 2, "p": 2}, {"type": "B", "g": 2, "p": 2}]).why(1)
    root = ElementTree.fromstring(svg({"why": answer.derivation, "machine": query.det}[of]))
    count = 0
    for group in root.iter(f"{_SVG}g"):
        if group.get("class") not in ("node", "edge"):
            continue
        lines = [(float(t.get("y", "")), t) for t in group.findall(f"{_SVG}text")]
        for (one, _), (other, text) in pairwise(lines):
            if other > one:
                assert other - one >= 1.15 * float(text.get("font-size", "")) - 0.01
                count += 1
    assert count > 2


def test_a_small_word_beside_a_label_stays_beside_it() -> None:
    events = Stream.from_events([{"type": "A"}])
    picture = svg(tecs_snapshot(A_THEN_B.plan, A_THEN_B.machine, events))
    (node,) = re.findall(r"<title>t1</title>.*?</g>", picture, re.S)
    assert node.count('text-anchor="start"') == 2


def test_words_of_edges_are_off_their_lines() -> None:
    root = ElementTree.fromstring(svg(A_THEN_B.cea))
    for group in root.iter(f"{_SVG}g"):
        shifts = [text.get("dy") for text in group.findall(f"{_SVG}text")]
        assert set(shifts) <= ({"-2"} if group.get("class") == "edge" else {None})


def test_words_beside_a_line_that_goes_down_do_not_touch_it() -> None:
    for machine in (A_THEN_B.det, A_THEN_B.cea):
        down = machine.to_graphviz(rankdir="TB").pipe("svg", encoding="utf-8")
        for edge in re.findall(r'<g class="edge">.*?</g>', down, re.S):
            assert edge.count(">\u00a0") + edge.count(">&#160;") == edge.count("<text")


def test_a_wide_machine_has_a_line_that_narrows_it() -> None:
    hint = ".to_graphviz(rankdir=&quot;TB&quot;)"
    assert hint in html(ladder(10))
    assert hint not in html(A_THEN_B.det)
    assert hint not in html(A_THEN_B.table)


def test_labels_of_loops_that_nothing_meets_make_no_machine_wide() -> None:
    """The loop of 1 is wider than its state, and the level edges beside it lie below its label."""
    hot: pred.Predicate = pred.And(
        pred.TypeIs("T"),
        pred.Comparison(pred.Operator.GT, pred.Attribute("temperature"), pred.Constant(40)),
    )
    first, last = (Transition(q, pred.TypeIs("H"), Mark.TAKE, q + 1) for q in (0, 1))
    level = (first, Transition(1, hot, Mark.TAKE, 1), last)
    for Delta, wide in (
        (level, False),
        ((*level, Transition(1, pred.TypeIs("H"), Mark.TAKE, 0)), True),
        ((*level, Transition(1, pred.TypeIs("H"), Mark.TAKE, 3)), True),
        ((*level, Transition(0, pred.TypeIs("H"), Mark.TAKE, 3)), True),
        ((*level[:2], Transition(1, hot, Mark.TAKE, 2)), False),
        ((*level, Transition(1, hot, Mark.TAKE, 2)), True),
    ):
        text = dot_text(AnchoredCea(4, Delta, frozenset({0}), frozenset({2})), "light")
        assert ("ranksep=0.60" not in text) is wide


def test_a_wide_picture_is_shown_no_smaller_than_can_be_read() -> None:
    page = html(ladder(30))
    (width,) = re.findall(r'<svg[^>]* width="(\d+)pt"', page)
    assert f"--least:{round(LEAST * int(width))}pt" in page
    assert "min-width:var(--least)" in page


def test_what_is_new_is_not_told_by_colour_alone() -> None:
    events = Stream.from_events([{"type": "A"}])
    graph = graph_of(tecs_snapshot(A_THEN_B.plan, A_THEN_B.machine, events))
    new = [node for node in graph.nodes if node.is_new]
    assert len(new) == 2
    assert dot_text(graph, "light").count("penwidth=2.2") == 2
    assert "Highlighted: 0, 0." in alt_text(graph)


def test_themes_have_their_own_colours_and_auto_has_both() -> None:
    light, dark, both = (svg(A_THEN_B.cea, theme) for theme in ("light", "dark", "auto"))
    assert colours(light) <= set(LIGHT.colours)
    assert colours(dark) <= set(DARK.colours)
    assert colours(both) == colours(light)
    assert "prefers-color-scheme" not in light + dark
    assert "svg:root{color-scheme:light dark}" in both, "on its own it is dark on dark ground"
    assert "color-scheme" not in light + dark
    (rule,) = re.findall(r"<style>@media \(prefers-color-scheme:dark\)\{(.*)\}</style>", both)
    swaps = re.findall(r'\[(?:fill|stroke)="(#\w+)"\]\{(?:fill|stroke):(#\w+)\}', rule)
    pairs = dict(zip(LIGHT.colours, DARK.colours, strict=True))
    assert {one for one, _ in swaps} == colours(light)
    assert all(pairs[one] == other for one, other in swaps)


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21 (WCAG 2)."""

    def luminance(colour: str) -> float:
        channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("theme", "page"), [(LIGHT, "#ffffff"), (DARK, "#111111")])
def test_words_are_legible_on_the_page_and_in_nodes(theme: Any, page: str) -> None:
    for name in ("ink", "faint", "accept_line", "take", "skip", "empty"):
        assert contrast(getattr(theme, name), page) >= 4.5, name
    assert contrast(theme.right, page) >= 3.5
    for inside in (theme.surface, theme.accepting, theme.highlight):
        assert contrast(theme.ink, inside) >= 7


def test_colours_of_a_theme_are_exchanged_one_for_one() -> None:
    pairs = set(zip(LIGHT.colours, DARK.colours, strict=True))
    assert len({one for one, _ in pairs}) == len(pairs)


@pytest.mark.parametrize(
    ("form", "begins"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<svg")]
)
def test_a_drawing_has_the_bytes_of_its_form(form: Any, begins: bytes) -> None:
    assert drawing(A_THEN_B.formula, form, "dark").startswith(begins)


def test_forms_and_themes_that_there_are_not() -> None:
    for form, theme in (("gif", "light"), ("svg", "sepia"), ("png", "auto")):
        with pytest.raises(UsageError, match="CER0822"):
            drawing(A_THEN_B.formula, form, theme)  # type: ignore[arg-type]


def test_a_graphviz_source_has_the_themed_text() -> None:
    source: Any = A_THEN_B.cea.to_graphviz()
    assert source.source.startswith("digraph cea {")
    assert LIGHT.take in source.source
    assert DARK.take in to_graphviz(A_THEN_B.cea, "dark").source


def test_a_graphviz_source_is_drawn_without_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    source: Any = A_THEN_B.cea.to_graphviz()
    assert source._repr_mimebundle_()["image/svg+xml"] == svg(A_THEN_B.cea, "light")
    assert source.pipe("svg") == drawing(A_THEN_B.cea, "svg")
    assert source.pipe("svg", encoding="utf-8").startswith("<svg")
    assert [source.pipe(form)[:4] for form in ("png", "pdf")] == [b"\x89PNG", b"%PDF"]


def ladder(states: int) -> IntervalCea:
    """Two transitions from each state to the next, and one back to itself."""
    Delta = [
        Transition(q, pred.TypeIs(name), Mark.TAKE, q + 1)
        for q in range(states - 1)
        for name in "AB"
    ]
    Delta += [Transition(q, pred.EVERYTHING, Mark.SKIP, q) for q in range(1, states - 1)]
    return IntervalCea(states, tuple(Delta), frozenset({0}), frozenset({states - 1}))


def test_an_automaton_of_200_states_is_drawn() -> None:
    root = ElementTree.fromstring(svg(ladder(200)))
    assert sum(name.startswith("q") for name in nodes_of(root)) == 200


def test_a_tecs_of_500_nodes_is_drawn() -> None:
    query = cerlab.parse_query("SELECT * WHERE A ; B+ ; C")
    events = Stream.from_events([{"type": kind} for kind in "ABBCAB" * 40])
    for snapshot in tecs_snapshots(query.plan, query.machine, events):
        if len(snapshot.nodes) >= 500:
            break
    graph = graph_of(snapshot)
    assert len(snapshot.nodes) >= 500
    nodes = nodes_of(ElementTree.fromstring(svg(graph)))
    assert sum(name.startswith("t") for name in nodes) == len(snapshot.nodes)


def test_what_is_too_large_is_refused_and_its_display_is_cut() -> None:
    huge = ladder(MAX_NODES + 1)
    with pytest.raises(ResourceLimit, match="CER0690"):
        svg(huge)
    root = ElementTree.fromstring(svg(graph_of(huge, limit=50)))
    assert sum(name.startswith("q") for name in nodes_of(root)) == 50
    assert "showing 50 of 1,001 nodes" in ElementTree.tostring(root, "unicode")


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a package as if it were not installed."""
    real = builtins.__import__

    def hide(name: str) -> None:
        def missing(module: str, *args: Any, **kwargs: Any) -> Any:
            if module.partition(".")[0] == name:
                raise ImportError(name)
            return real(module, *args, **kwargs)

        monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.setattr(builtins, "__import__", missing)

    return hide


@pytest.mark.parametrize(
    ("package", "use"),
    [
        ("pygraphviz", lambda: svg(A_THEN_B.cea)),
        ("pygraphviz", lambda: drawing(A_THEN_B.cea, "png")),
        ("graphviz", lambda: to_graphviz(A_THEN_B.cea)),
        ("networkx", lambda: A_THEN_B.cea.to_networkx()),
    ],
)
def test_a_missing_package_is_named_with_what_to_install(
    package: str, use: Callable[[], Any], without: Callable[[str], None]
) -> None:
    without(package)
    with pytest.raises(Unsupported, match=f"CER0416.*{package}") as caught:
        use()
    assert caught.value.hint == "pip install 'cerlab[viz]'"


def test_without_graphviz_a_display_has_text_and_dot(without: Callable[[str], None]) -> None:
    without("pygraphviz")
    value: Any = A_THEN_B.cea
    bundle = value._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/vnd.graphviz"}
    assert bundle["text/vnd.graphviz"].startswith("digraph cea {")


def test_the_last_snapshot_of_a_stream_is_what_is_drawn() -> None:
    events = Stream.from_events([{"type": "A"}, {"type": "B"}])
    graph = graph_of(tecs_snapshot(A_THEN_B.plan, A_THEN_B.machine, events))
    root = ElementTree.fromstring(svg(graph))
    heads = [name for name in nodes_of(root) if name.startswith("at")]
    assert heads == ["at0", "at1"]
    assert [n.kind for n in graph.nodes].count(NodeKind.TABLE) == 1


def test_graphviz_has_directions_sizes_and_black_on_white() -> None:
    det = A_THEN_B.det
    wide, high = (det.to_graphviz(rankdir=each).source for each in ("LR", "TB"))
    assert "rankdir=LR;" in wide
    assert "rankdir" not in high
    small = det.to_graphviz(size=(1, 2.5), monochrome=True)
    assert 'size="1,2.5";' in small.source
    assert set(re.findall(r'"(#\w{6})"', small.source)) == {"#000000", "#ffffff"}
    assert small.source == to_graphviz(det, "print", size=(1, 2.5)).source
    drawn = small.pipe("svg", encoding="utf-8")
    points = re.search(r'width="(\d+)pt" height="(\d+)pt"', drawn)
    assert points is not None
    assert int(points[1]) <= 73
    assert small._repr_mimebundle_()["image/svg+xml"].startswith("<svg")
    with pytest.raises(cerlab.UsageError, match="expected one of the directions LR, TB, RL, BT"):
        det.to_graphviz(rankdir="up")


@pytest.mark.parametrize(
    "size",
    [
        *(8.5, "8.5cm", "ab", (3,), (1, 2, 3), (0, 1), (-1, 1), (float("nan"), 1)),
        *((1, float("inf")), (10**400, 1), ("3", "4"), {3, 4}, [None, 1]),
    ],
)
def test_a_size_that_is_no_size_is_refused(size: Any) -> None:
    methods: list[Any] = [A_THEN_B.cea.to_graphviz, partial(to_graphviz, A_THEN_B.cea)]
    for draw in methods:
        with pytest.raises(UsageError) as caught:
            draw(size=size)
        assert caught.value.code == "CER0822"
        assert "expected a width and a height in inches, as in size=(3.3, 6)" in str(caught.value)


@pytest.mark.parametrize(
    ("option", "named"),
    [
        *(("font", "size="), ("width", "size="), ("height", "size="), ("direction", "rankdir=")),
        *(("sise", "'size'"), ("monochrom", "'monochrome'")),
    ],
)
def test_an_option_of_other_programs_names_the_one_here(option: str, named: str) -> None:
    methods: list[Any] = [A_THEN_B.cea.to_graphviz, partial(to_graphviz, A_THEN_B.cea)]
    for draw in methods:
        with pytest.raises(UsageError, match="CER0847") as caught:
            draw(**{option: 3})
        assert named in caught.value.hint


def page(picture: bytes) -> tuple[float, float]:
    """Return the width and height of a PDF or SVG in points."""
    if picture.startswith(b"%PDF"):
        (box,) = re.findall(rb"/MediaBox\s*\[([^\]]*)\]", picture)
        left, bottom, right, top = map(float, box.split())
        return right - left, top - bottom
    (across, high) = re.findall(rb'^<svg[^>]* width="(\d+)pt" height="(\d+)pt"', picture)[0]
    return float(across), float(high)


@pytest.mark.parametrize("of", ["cea", "det", "table", "formula"])
@pytest.mark.parametrize("size", [None, (8.5 / 2.54, 6), (2, 1), (9, 0.5)])
@pytest.mark.parametrize("rankdir", ["LR", "TB"])
def test_a_size_limits_the_page_of_every_format(
    of: str, size: tuple[float, float] | None, rankdir: str
) -> None:
    value: Any = getattr(cerlab.parse_query("SELECT * WHERE A ; (B OR C)+ ; D{2}"), of)
    drawn = value.to_graphviz(rankdir=rankdir, size=size)
    pages = [page(drawn.pipe(form)) for form in ("pdf", "svg")]
    assert pages[0] == pages[1]
    for points, inches in zip(pages[0], size or (), strict=False):
        assert points <= 72 * inches + 1
    # a `dot` program draws the same text
    assert "margin=0" in drawn.source


def test_the_machine_of_a_query_has_its_strategy() -> None:
    assert A_THEN_B.machine is A_THEN_B.det
    with_max = cerlab.parse_query("SELECT MAX * WHERE A ; B")
    assert "CEA of MAX" in str(with_max.machine)
    assert "machine" in dir(with_max)
    assert with_max.machine.to_graphviz().source.startswith("digraph det {")
