"""The lab in a headless Chromium, as static files, without a network."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO, StringIO
from operator import itemgetter
from pathlib import Path
from random import Random
from threading import Event, Thread
from time import sleep
from typing import Any

import pytest

import cerlab
from cerlab import lab
from cerlab.budget import poll
from cerlab.cli import main
from cerlab.lab.serve import Archive, Lab, build, fetch
from cerlab.logic.ceql.syntax import query_text
from cerlab.testing import as_dict
from proofs_tests.browser import PATIENCE
from proofs_tests.random_cases import random_case
from proofs_tests.suite import Suite

pytestmark = pytest.mark.services


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address at which this machine serves the static files."""
    folder = tmp_path_factory.mktemp("lab") / "files"
    try:
        build(folder)
    except cerlab.BadData as error:
        pytest.skip(f"building the lab needs npm and PyPI: {error.message}")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def context(address: str, chromium: Any) -> Any:
    """A browser that reaches nothing but the static files."""
    context = chromium.new_context()
    _stay_offline(context, address)
    return context


def _stay_offline(context: Any, address: str) -> None:
    context.route(
        lambda url: not url.startswith(address),
        lambda route: route.abort("internetdisconnected"),
    )


@pytest.fixture(scope="module")
def page(context: Any, address: str) -> Any:
    """The lab, once it has answered its first query."""
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#total, #status:has-text('could not')")
    assert "could not" not in page.inner_text("#status"), page.inner_text("#status")
    return page


def _wait_until_settled(page: Any) -> None:
    # The page asks 250 ms after the last key. Timers of a page fire in the order of their times.
    page.evaluate("() => new Promise((over) => setTimeout(over, 300))")
    page.wait_for_function(
        "!/thinking|loading/.test(document.getElementById('status').textContent)"
    )


def _type(page: Any, query: str, events: str) -> None:
    page.fill("#events", events)
    page.fill("#query", query)
    _wait_until_settled(page)


def test_a_typed_query_is_answered_and_drawn(page: Any) -> None:
    _type(page, "A ; B+", "A B C B")
    page.click("[data-panel=answers]")
    _wait_until_settled(page)
    assert page.inner_text("#total") == "3 answers"
    page.click("[data-panel=machine]")
    _wait_until_settled(page)
    assert page.locator("#shown svg.cerlab-graph").count() == 1
    page.click("[data-panel=steps]")
    _wait_until_settled(page)
    assert "event 0: A()" in page.inner_text("#shown")


def test_a_mistake_is_shown_under_its_caret(page: Any) -> None:
    _type(page, "A ;; B", "A B")
    assert page.inner_text("#said").splitlines()[1:3] == ["A ;; B", "   ^"]
    _type(page, "A ; B", "A B")
    assert page.inner_text("#said") == ""


def test_a_mistake_in_the_events_is_shown_under_them(page: Any) -> None:
    _type(page, "A ; B", "type,v\nA,1,2\nB")
    assert page.inner_text("#said-events") != ""
    assert page.inner_text("#said") == ""
    assert "old" in page.get_attribute("#shown", "class")
    _type(page, "A ; B", "A B")
    assert page.inner_text("#said-events") == ""
    assert "old" not in page.get_attribute("#shown", "class")


def test_a_text_of_events_may_be_long(page: Any) -> None:
    page.click("[data-panel=answers]")
    _type(page, "A ; B", f"A(text={'x' * 200_000})\nB()\nB()")
    assert page.inner_text("#total") == "2 answers"
    _type(page, "A ; B", "A B")


def test_a_page_that_fails_dims_what_it_shows_and_says_so(page: Any) -> None:
    page.evaluate("() => { window.own = btoa; window.btoa = () => { throw new Error('no room') } }")
    _type(page, "A ; B", "A B B")
    assert page.inner_text("#said") == "the page failed: no room"
    assert "old" in page.get_attribute("#shown", "class")
    page.evaluate("() => { window.btoa = window.own }")
    _type(page, "A ; B", "A B")
    assert page.inner_text("#said") == ""


def test_a_window_in_seconds_reads_the_time_field(page: Any) -> None:
    page.click("[data-panel=answers]")
    _type(page, "SELECT * WHERE A ; B WITHIN 2 SECONDS", "A(t=1)\nB(t=2)\nB(t=9)")
    page.fill("#time", "t:s")
    _wait_until_settled(page)
    assert page.inner_text("#total") == "1 answer"
    page.fill("#time", "")
    _type(page, "A ; B", "A B")


EXAMPLES = {
    "a window inside": "1 answer",
    "arithmetic between labels": "1 answer",
    "nothing for ten minutes": "2 answers",
    "counts": "4 answers",
    "a sequence": "2 answers",
}


def test_examples_of_time_and_counts_are_answered_and_an_answer_that_waits_has_a_bar(
    page: Any,
) -> None:
    """The last example but two waits; without the tick one of its two answers is not there yet."""
    page.click("[data-panel=answers]")
    for name, total in EXAMPLES.items():
        page.select_option("#example", name)
        _wait_until_settled(page)
        assert page.inner_text("#said") == ""
        assert page.inner_text("#total") == total
        if name == "nothing for ten minutes":
            assert page.locator("#shown svg.cerlab-timeline").count() == 1
            page.uncheck("#end")
            _wait_until_settled(page)
            assert page.inner_text("#total") == "1 answer"
            assert "1 answer waits for the clock" in page.inner_text("#said")


def test_positions_are_explained_by_a_click(page: Any) -> None:
    _type(page, "A : B", "A C B")
    for position in (0, 2):
        page.locator("#strip button").nth(position).click()
        _wait_until_settled(page)
    assert "gap of 1 event" in page.inner_text("#shown")


def test_two_queries_are_compared_with_a_witness(page: Any) -> None:
    _type(page, "A ; B", "A B")
    page.click("[data-panel=compare]")
    page.fill("#other", "A : B")
    _wait_until_settled(page)
    assert "does not hold" in page.inner_text("#shown")
    page.click("text=Use this stream")
    _wait_until_settled(page)
    assert page.input_value("#events").split() == ["A()", "other()", "B()"]


def test_a_link_opens_the_same_page_in_another_browser(
    page: Any, chromium: Any, address: str
) -> None:
    _type(page, "A ; C", "A B C")
    page.click("[data-panel=answers]")
    _wait_until_settled(page)
    fresh = chromium.new_context()  # another person's browser
    _stay_offline(fresh, address)
    other = fresh.new_page()
    other.goto(page.url)
    other.wait_for_selector("#total")
    assert (other.input_value("#query"), other.input_value("#events")) == ("A ; C", "A B C")
    assert other.inner_text("#total") == page.inner_text("#total") == "1 answer"
    fresh.close()


def test_a_dropped_file_is_read(page: Any) -> None:
    _type(page, "A ; B", "A")
    page.evaluate(DROP)
    page.click("[data-panel=answers]")
    _wait_until_settled(page)
    assert page.inner_text("#total") == "2 answers"


DROP = """() => {
    const dropped = new DataTransfer();
    dropped.items.add(new File(["type,v\\nA,1\\nB,2\\nB,3\\n"], "events.csv"));
    const event = new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true });
    document.getElementById("events").dispatchEvent(event);
}"""


AXE = Archive(
    "https://registry.npmjs.org/axe-core/-/axe-core-4.10.3.tgz",
    "Xm7bpRXnDSX2YE2YFfBk2FnF0ep6tmG7xPh8iHee8MIcrgq762Nkce856dYtJYLkuIoYZvGfTs/PbZhideTcEg==",
    ("package/axe.min.js",),
    "axe-core-4.10.3",
)


@pytest.fixture(scope="module")
def axe() -> str:
    """The script that finds what keeps people with disabilities from using a page."""
    try:
        content = fetch(AXE)
    except cerlab.BadData as error:
        pytest.skip(f"axe comes from npm: {error.message}")
    with tarfile.open(fileobj=BytesIO(content)) as archive:
        script = archive.extractfile(*AXE.files)
        assert script is not None
        return script.read().decode()


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (420, "dark")])
def test_axe_finds_nothing(width: int, theme: str, chromium: Any, axe: str) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    with Lab() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page.goto(server.url)
        page.wait_for_selector("#total")
        page.evaluate(axe)
        for example in ("a sequence", "nothing for ten minutes", "a row pattern"):
            page.select_option("#example", example)
            for panel in ("answers", "machine", "steps", "why", "compare"):
                page.click(f"[data-panel={panel}]")
                _wait_until_settled(page)
                violations = page.evaluate("() => axe.run()")["violations"]
                assert [(each["id"], each["nodes"][0]["html"]) for each in violations] == []
        page.close()
        server.shutdown()


@pytest.fixture(scope="module")
def served(chromium: Any) -> Iterator[Any]:
    """The lab of `cerlab lab` in a browser of its own, once it has answered its first query."""
    page = chromium.new_page()
    with Lab() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page.goto(server.url)
        page.wait_for_selector("#total")
        yield page
        page.close()
        server.shutdown()


def test_stop_ends_the_work_and_the_page_goes_on(
    served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = Event()

    def endless(request: Any) -> Any:
        try:
            while True:
                poll()
                sleep(0.01)
        finally:
            ended.set()

    monkeypatch.setitem(lab.PANELS, "steps", endless)
    served.click("[data-panel=steps]")
    served.click("#stop")
    assert ended.wait(PATIENCE / 1_000), "the process goes on computing"
    assert served.inner_text("#status") == "stopped"
    served.click("[data-panel=answers]")
    _wait_until_settled(served)
    assert served.locator("#stop").is_hidden()
    assert "answer" in served.inner_text("#total")


def test_stop_ends_the_worker_and_another_one_answers(page: Any) -> None:
    _type(page, "A ; B", "A B")
    page.click("[data-panel=compare]")
    page.fill("#other", "A{60} ; B{60} ; (A OR B){60}")
    page.fill("#query", "(A OR B){180} ; A{60}")
    page.click("#stop")
    assert page.inner_text("#status") in ("stopped", "loading Python")
    page.click("[data-panel=answers]")
    _type(page, "A ; B", "A B B")
    page.wait_for_function("document.getElementById('total')?.textContent === '2 answers'")


def test_previous_and_next_move_by_one_step_and_stop_at_the_ends(served: Any) -> None:
    _type(served, "A ; B", "A B B")
    served.click("[data-panel=steps]")
    _wait_until_settled(served)
    headings = []
    for button in ("previous", "next", "next", "next", "previous"):
        served.get_by_role("button", name=button).click()
        headings.append(re.findall(r"event \d", served.inner_text(".frame"))[0])
    assert headings == ["event 0", "event 1", "event 2", "event 2", "event 1"]


@pytest.mark.parametrize("panel", ["answers", "machine", "steps", "why", "compare"])
def test_warnings_of_a_query_are_shown_at_every_panel(panel: str, served: Any) -> None:
    query = "SELECT * WHERE A ; B FILTER c[v > 1]"
    _type(served, query, "A B")
    served.click(f"[data-panel={panel}]")
    _wait_until_settled(served)
    with pytest.warns(cerlab.CerlabWarning) as warnings:
        cerlab.parse_query(query)
    for warning in warnings:
        assert str(warning.message) in served.inner_text("#said")


def test_keys_choose_panels_and_positions_and_readers_hear_what_is_chosen(page: Any) -> None:
    _type(page, "A ; B", "A B")
    page.click("[data-panel=answers]")
    panels = []
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        _wait_until_settled(page)
        panel = page.get_by_role("tabpanel")
        panels.append(page.get_by_role("tab", selected=True).inner_text())
        assert panel.get_attribute("aria-labelledby") == f"tab-{panels[-1].lower()}"
    assert panels == ["Machine", "Steps", "Why", "Compare", "Answers"]
    page.get_by_role("button", name="event 1, B").focus()
    page.keyboard.press("Space")
    _wait_until_settled(page)
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"


def test_minterms_are_a_table(page: Any) -> None:
    _type(page, "A ; B", "A B")
    page.click("[data-panel=machine]")
    page.select_option("#options select", "minterms")
    _wait_until_settled(page)
    rows = page.locator("#shown tbody tr").all_inner_texts()
    assert [row.split() for row in rows] == [
        ["-", "-", "other()"],
        ["holds", "-", "A()"],
        ["-", "holds", "B()"],
    ]
    page.select_option("#options select", "cea")
    _wait_until_settled(page)


def test_answers_are_those_of_the_command_line(page: Any, suite: Suite, tmp_path: Path) -> None:
    page.click("[data-panel=answers]")
    path = tmp_path / "events.ndjson"

    def case(rng: Random) -> bool | None:
        sample = random_case(rng)
        query = query_text(sample.ast)
        if not sample.stream:
            return None  # no file of events
        path.write_text("\n".join(json.dumps(as_dict(event)) for event in sample.stream))
        _type(page, query, path.read_text())
        if "this needs pyarrow" in page.inner_text("#said"):
            return False  # LIKE
        with redirect_stdout(StringIO()) as output, redirect_stderr(StringIO()) as errors:
            status = main(["run", query, str(path), "--format", "ndjson"])
        if status == 2:
            (code,) = re.findall(r"^(CER\d{4}):", errors.getvalue(), re.MULTILINE)
            return _refused_with(code, page.inner_text("body"))
        answers = [json.loads(line) for line in output.getvalue().splitlines()]
        answers.sort(key=itemgetter("end", "start", "positions"))
        cells = page.locator("#shown table tr td:nth-child(3)").all_inner_texts()
        assert cells == [f"{{{', '.join(map(str, a['positions']))}}}" for a in answers[:200]]
        return bool(answers)

    suite.run(case, deep_count=200)


def _refused_with(code: str, message: str) -> bool:
    assert code in message
    return False
