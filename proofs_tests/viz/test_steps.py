"""The stepper: what it tells is what Algorithm 1 does, and what it draws can be read."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest

import cerlab
from cerlab import ComplexEvent, step
from cerlab.engine.reference.snapshot import TecsNode
from cerlab.evaluate import answers_of
from cerlab.viz.filmstrip import MOST_FRAMES, TOGETHER, Frames
from cerlab.viz.graph import DARK, LIGHT
from cerlab.viz.steps import Steps, page
from proofs_tests.engine.test_compiled import compilable
from proofs_tests.suite import random_suite

SVG = "{http://www.w3.org/2000/svg}"
EVENTS = [{"type": kind, "v": n} for n, kind in enumerate("ABACBC")]
QUERY = "SELECT * WHERE A ; B+ ; C WITHIN 5 EVENTS"


@pytest.fixture(scope="module")
def steps() -> Steps:
    return step(QUERY, EVENTS)


def test_words_of_the_example(steps: Steps) -> None:
    assert [s.heading for s in steps][:2] == ["event 0: A(v=0)", "event 1: B(v=1)"]
    assert steps[4].words == (
        "Tests passed: type = 'B'.",
        "Runs in {1} go by • to {2, 3}.",
        "Runs in {1} go by ∘ to {1}.",
        "Runs in {2, 3} go by • to {2, 3}.",
        "Runs in {2, 3} go by ∘ to {2, 3}.",
        "tECS: 4 new nodes, unions among them: 2; active macro-states: 2.",
    )
    assert steps[3].words[-1] == "Answer [0, 3] {0, 1, 3}."


def test_an_event_in_no_substream_changes_nothing() -> None:
    steps = step("SELECT * WHERE A ; B PARTITION BY [k]", [{"type": "A", "k": 1}, {"type": "B"}])
    assert steps[0].heading == "event 0: A(k=1), partition 1"
    assert steps[1].words == ("The event is in no substream and has no effect.",)
    assert steps[1].snapshot.active == steps[0].snapshot.active


def test_a_part_of_the_stream_is_told_as_in_the_whole(steps: Steps) -> None:
    part = step(QUERY, EVENTS, first=2, last=4)
    assert part.steps == steps.steps[2:4]
    for first, last in ((4, 2), (6, None), (-1, None), (0, 0)):
        with pytest.raises(cerlab.UsageError, match="CER0848"):
            step(QUERY, EVENTS, first=first, last=last)


@random_suite(4_000)
def test_steps_lead_from_the_states_before_to_the_states_after(rng: Random) -> bool:
    """And their answers are those of the evaluator, as far as a snapshot lists them."""
    sample = compilable(rng)
    if not len(sample.stream):
        return False
    query = sample.query
    steps = step(query, sample.stream)
    answers: list[ComplexEvent] = []
    before: dict[tuple[object, ...], set[str | None]] = {}
    for s in steps:
        snapshot = s.snapshot
        if not snapshot.is_read:
            continue
        key = tuple((isinstance(value, bool), value) for value in snapshot.key)
        sources = [each.source for each in snapshot.steps]
        assert sources[0] is None
        assert set(sources[1:]) <= before.get(key, set()), sample.describe()
        targets = {q for each in snapshot.steps for q in (each.take, each.skip)} - {None}
        active: set[str | None] = {state.name for state in snapshot.active}
        assert active == targets, sample.describe()
        before[key] = active
        answers += snapshot.answers
    if any(s.snapshot.has_more for s in steps) or query.ast.limit is not None:
        return False  # not all answers are listed: the states were compared, they were not
    expected = set(answers_of(query, sample.stream, "tecs"))
    assert set(answers) == expected, sample.describe()
    return bool(expected)


def test_frames_are_pictures_that_say_what_they_show(steps: Steps) -> None:
    for k, frame in enumerate(Frames(steps).all()):
        root = ElementTree.fromstring(frame)
        assert root.get("role") == "img"
        title = root.find(f"{SVG}title")
        assert title is not None
        assert title.text == f"{steps[k].heading}, step {k + 1} of 6"
        texts = "".join(root.itertext())
        assert all(line in texts for line in steps[k].words)
    assert "#e8ebef" in steps.frame(0, "dark")
    assert "prefers-color-scheme" not in steps.frame(0, "dark")


@random_suite(200)
def test_frames_have_one_size_and_nodes_keep_their_place(rng: Random) -> bool:
    sample = compilable(rng)
    if not len(sample.stream):
        return False
    steps = step(sample.query, sample.stream[:TOGETHER])
    frames = Frames(steps, "light")
    roots = [ElementTree.fromstring(frame) for frame in frames.all()]
    assert len({root.get("viewBox") for root in roots}) == 1
    first_places: dict[tuple[object, str | None], str] = {}
    for one, root in zip(steps, roots, strict=True):
        places = _nodes(root)
        links = {f"t{n.number}->t{m}" for n in one.snapshot.nodes for m in _below(n)}
        assert {title.text for title in root.iter(f"{SVG}title")} >= links
        assert set(places) == {f"t{node.number}" for node in one.snapshot.nodes}
        for name, place in places.items():
            assert first_places.setdefault((one.snapshot.key, name), place) == place
    return len(first_places) > 2


def test_frames_do_not_grow_with_the_stream() -> None:
    """Nodes of earlier events that are still linked to stand in one column, without their links."""
    steps = step("A ; B+ ; C", [{"type": "ABABCABBCABC"[n % 12]} for n in range(48)])
    frames = [ElementTree.fromstring(frame) for frame in Frames(steps, "light").all()]
    sizes = [(float(root.get("width", "")), float(root.get("height", ""))) for root in frames]
    assert sizes == [size for size in sizes[::TOGETHER] for _ in range(TOGETHER)]
    assert max(width for width, _ in sizes) < 1.25 * sizes[0][0] < 1300
    assert max(height for _, height in sizes) < 1.35 * sizes[0][1] < 1200
    for one, root in zip(steps, frames, strict=True):
        first = max(0, one.position // TOGETHER * TOGETHER - 1)
        nodes, shown = {f"t{n.number}": n for n in one.snapshot.nodes}, set(_nodes(root))
        recent = {name for name, n in nodes.items() if n.position >= first}
        assert recent <= shown <= nodes.keys()
        linked = {f"t{m}" for name in recent for m in _below(nodes[name])}
        linked |= {f"t{m}" for active in one.snapshot.active for m in active.union_list}
        assert linked <= shown
        links = {f"t{n.number}->t{m}" for n in one.snapshot.nodes for m in _below(n)}
        titles = {title.text for title in root.iter(f"{SVG}title")}
        assert {each for each in links if each.split("-")[0] in recent} <= titles
        assert ("earlier" in "".join(root.itertext())) is (first > 0)


def _below(node: TecsNode) -> list[int]:
    return [child for child in (node.next, node.left, node.right) if child is not None]


def _nodes(frame: ElementTree.Element) -> dict[str, str]:
    """The nodes of the tECS in a frame, each with the numbers of its shape."""
    places = {}
    for group in frame.iter(f"{SVG}g"):
        name = group.findtext(f"{SVG}title") or ""
        if group.get("class") == "node" and re.fullmatch(r"t\d+", name):
            shape = next(part for part in group if part.tag != f"{SVG}title")
            places[name] = "{} {}".format(*(shape.get(k) for k in ("points", "cx")))
    return places


def test_lines_lead_from_the_table_to_what_it_lists(steps: Steps) -> None:
    for k, one in enumerate(steps):
        entries = sum(len(active.union_list) for active in one.snapshot.active)
        assert (
            Frames(steps, "light").one(k).count(f'fill="none" stroke="{LIGHT.table}"/>') == entries
        )


def test_a_frame_follows_the_theme_of_a_jupyter_page(steps: Steps) -> None:
    """The slider puts it into the page as it is: the page's theme counts, not the browser's."""
    styles = "".join(re.findall(r"<style>(.*?)</style>", steps.frame(0)))
    dark = f'[data-jp-theme-light="false"] .cerlab-graph [fill="{LIGHT.ink}"]{{fill:{DARK.ink}}}'
    assert dark in styles
    assert "data-jp-theme-light" not in steps.frame(0, "dark")


def test_types_that_are_too_long_for_their_box_end_in_dots() -> None:
    texts = [
        text.text
        for text in ElementTree.fromstring(
            step("Temperature ; B", [{"type": "Temperature"}]).frame(0)
        ).iter(f"{SVG}text")
    ]
    assert "Temp…" in texts


def test_one_step_shows_its_words_and_its_graph(steps: Steps) -> None:
    bundle = steps[3]._repr_mimebundle_()  # type: ignore[attr-defined]
    assert bundle["text/plain"].startswith("event 3: C(v=3)\n  Tests passed: type = 'C'.")
    assert f"\n\n{bundle['text/plain']}\n" in str(steps)
    assert "<li>Answer [0, 3] {0, 1, 3}.</li>" in bundle["text/html"]
    assert "<title>tECS after event 3" in bundle["image/svg+xml"]


def test_a_strip_has_the_frames_below_each_other(steps: Steps) -> None:
    root = ElementTree.fromstring(Frames(steps).strip(1, 4))
    frames = root.findall(f"{SVG}g")
    tops = [float(str(g.get("transform")).split()[1].rstrip(")")) for g in frames]
    assert len(tops) == 3
    assert tops == sorted(set(tops))
    assert float(str(root.get("height"))) > tops[-1]


def test_a_display_has_a_button_for_each_step_and_shows_one(steps: Steps) -> None:
    html = steps._repr_mimebundle_()["text/html"]  # type: ignore[attr-defined]
    assert re.findall(r'<label for="[^"]+">([^<]+)<', html) == [
        f"{k} {event['type']}" for k, event in enumerate(EVENTS)
    ]
    assert html.count('class="frame ') == html.count(":checked~.frame.k") == len(EVENTS)
    assert html.count(' checked=""/>') == 1
    other = step("A ; B", EVENTS)._repr_mimebundle_()["text/html"]  # type: ignore[attr-defined]
    names = [re.findall(r' name="([^"]+)"', each)[0] for each in (html, other)]
    assert names[0] != names[1], "buttons of two displays on a page are apart"


def test_displays_say_how_many_steps_they_leave_out() -> None:
    many = step("A ; B", [{"type": "AB"[n % 2]} for n in range(MOST_FRAMES + 3)])
    bundle = many._repr_mimebundle_()  # type: ignore[attr-defined]
    assert f"showing {MOST_FRAMES} of {MOST_FRAMES + 3} steps" in bundle["text/html"]
    assert bundle["text/plain"].count("\nevent ") == MOST_FRAMES + 3
    assert ElementTree.fromstring(bundle["image/svg+xml"]).tag == f"{SVG}svg"


def test_without_a_renderer_there_are_still_words(
    steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    bundle = steps._repr_mimebundle_()  # type: ignore[attr-defined]
    assert set(bundle) <= {"text/plain", "text/vnd.graphviz"}
    with pytest.raises(cerlab.Unsupported, match="CER0416"):
        steps.frame(0)


def test_a_page_has_all_frames_and_a_slider(steps: Steps, tmp_path: Path) -> None:
    text = page(steps)
    assert text.count("<svg class") >= 6
    assert 'type: "range"' in text
    assert "export default" not in text
    for name in ("s.svg", "s.html", "s.txt"):
        steps.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 500
    with pytest.raises(cerlab.UsageError, match="CER0849"):
        steps.save(tmp_path / "s.gif")


def test_the_widget_has_the_frames_and_shares_the_script(steps: Steps) -> None:
    widget = steps.widget()
    assert len(widget.frames) == 6
    assert widget.k == 0
    widget.k = 2
    assert "export default { render }" in str(widget._esm)
    data, _ = widget._repr_mimebundle_()
    assert data["text/html"].endswith(f'<div class="cerlab-frame">{widget.frames[2]}</div>')
    assert "application/vnd.jupyter.widget-view+json" in data


def test_a_machine_too_large_is_left_out() -> None:
    strategy = step("SELECT MAX * WHERE A FILTER A[v = 0] ; B+ ; C+ ; A+ ; B+", EVENTS[:2])
    assert strategy.machine is None
    assert Frames(strategy).one(1)


def test_a_machine_too_wide_to_be_read_is_left_to_the_words() -> None:
    chain = step(" ; ".join("ABCDEFGHIJKLMNOP"), EVENTS[:1])
    assert chain.machine is not None
    picture = ElementTree.fromstring(chain.frame(0))
    titles = [title.text for title in picture.iter(f"{SVG}title")]
    assert not any("macro-state" in (title or "") or "CEA" in (title or "") for title in titles)
    assert any((title or "").startswith("tECS after event 0") for title in titles)
