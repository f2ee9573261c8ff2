// The lab's page. What it asks goes to `engine`: a server that runs cerlab, or Pyodide in a worker.
import { openEngine } from "./engine.js";

const EXAMPLES = {
  "a sequence": { query: "A ; B", events: "A C B B" },
  "iteration": { query: "A ; B+ ; C", events: "A B A B C" },
  "counts": { query: "A{2,3} ; B", events: "A C A A B" },
  "filters and a partition": {
    query: "SELECT *\nWHERE BUY AS b ; SELL AS s\nFILTER b[price < 100] AND s[price > 100]\nPARTITION BY [name]",
    events: "BUY(name=X,price=90)\nBUY(name=Y,price=80)\nSELL(name=X,price=101)\nSELL(name=Y,price=95)\nSELL(name=X,price=120)",
  },
  "nothing in between": { query: "(A ; B) UNLESS C", events: "A C A B" },
  "strategies": { query: "SELECT NEXT *\nWHERE A ; B", events: "A A B A B", other: "SELECT LAST *\nWHERE A ; B" },
  "a window": { query: "SELECT *\nWHERE A ; B\nWITHIN 2 EVENTS", events: "A C B B" },
  "a window inside": {
    query: "(READ:{3} AS hot FILTER hot[v > 80] WITHIN 5 [t]) ; STOP",
    events: "READ(t=0,v=82)\nREAD(t=2,v=83)\nREAD(t=4,v=85)\nREAD(t=9,v=84)\nSTOP(t=30)",
  },
  "arithmetic between labels": {
    query: "A AS a ; B AS b\nFILTER b.price > 1.05 * a.price",
    events: "A(price=100)\nB(price=104)\nA(price=102)\nB(price=106)",
  },
  "nothing for ten minutes": {
    query: "SELECT *\nWHERE (TRIAGE WAIT 10 MINUTES) UNLESS DOCTOR\nPARTITION BY [patient]",
    events: "TRIAGE(patient=1,t=0)\nTRIAGE(patient=2,t=60)\nDOCTOR(patient=2,t=240)\nCALL(patient=1,t=300)\nTRIAGE(patient=3,t=900)",
    time: "t:s",
    end: true,
  },
  "registers": {
    query: "<type = 'B'>^ -> r . <TRUE>* . <type = 'S' AND id = r.id>^",
    events: "B(id=1)\nB(id=2)\nS(id=2)\nS(id=1)",
  },
  "a row pattern": {
    query: "MATCH_RECOGNIZE (\n  MEASURES FIRST(price) AS high, LAST(price) AS low\n  PATTERN (A DOWN+)\n  DEFINE DOWN AS price < PREV(price)\n)",
    events: "BUY(price=90)\nBUY(price=80)\nBUY(price=70)\nBUY(price=95)",
  },
};
const STAGES = {
  cea: "automaton",
  det: "deterministic",
  vcea: "with labels",
  blocks: "counts as blocks",
  strict: "of STRICT",
  nxt: "of NEXT",
  last: "of LAST",
  max: "of MAX",
  srt: "with registers",
  ast: "formula",
  table: "table",
  minterms: "minterms",
};
const LEGEND = "• the event is taken, ∘ it is skipped";
const QUIET = 250; // milliseconds without a key before the page asks

const at = (id) => document.getElementById(id);
const create = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

const state = { query: "", events: "", time: "", end: false, other: "", panel: "answers", what: "cea", positions: [] };
let engine;
let round = 0;

// -- the state is the link ------------------------------------------------------------------------

const toLink = () => {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""); // a call takes few arguments
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_");
};
const fromLink = (text) => {
  const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0))));
};
const remember = () => history.replaceState(null, "", `#${toLink()}`);
const recall = () => {
  try {
    const values = fromLink(location.hash.slice(1));
    for (const name of Object.keys(state)) {
      if (typeof values[name] === typeof state[name]) state[name] = values[name];
    }
    state.positions = state.positions.filter(Number.isInteger);
    if (!(state.what in STAGES)) state.what = "cea";
  } catch {
    Object.assign(state, { other: "A : B" }, EXAMPLES["a sequence"]);
  }
};

// -- asking and showing ---------------------------------------------------------------------------

const ask = async (panel, more = {}) => {
  const { query, events, time, end, other, what, positions } = state;
  return engine.ask({ panel, query, events, time, end, other, what, positions, ...more });
};

async function refresh() {
  const mine = ++round;
  at("status").textContent = "thinking";
  at("stop").hidden = false;
  const began = performance.now();
  const late = () => mine !== round;
  try {
    remember();
    const checkReply = await ask("check");
    if (late()) return;
    report(checkReply.error, checkReply.warnings);
    dim(checkReply.error);
    if (checkReply.error) return;
    strip(checkReply);
    const reply = await ask(state.panel);
    if (late()) return;
    report(reply.error, [...checkReply.warnings, ...(reply.warnings ?? [])]);
    show(reply);
  } catch (error) {
    if (late()) return;
    dim(true);
    report({ message: `the page failed: ${error.message ?? error}` });
  } finally {
    if (!late()) {
      at("stop").hidden = true;
      at("status").textContent = `${engine.name}, ${Math.round(performance.now() - began)} ms`;
    }
  }
}

// What is shown answers an earlier question: it stays to be seen, and cannot be used.
function dim(isOld) {
  at("shown").classList.toggle("old", Boolean(isOld));
  at("shown").inert = Boolean(isOld);
}

function report(error, warnings = []) {
  const box = error?.box ?? "query";
  for (const name of ["query", "events", "other"]) {
    at(name)?.classList.toggle("wrong", Boolean(error) && name === box);
  }
  const lines = error ? [error.message] : [...new Set(warnings)];
  if (error?.line) {
    const width = Math.max(1, error.end - error.column);
    lines.push(error.text.split("\n")[error.line - 1] ?? "", " ".repeat(error.column - 1) + "^".repeat(width));
  }
  if (error?.hint) lines.push(`hint: ${error.hint}`);
  const ofEvents = error && box === "events";
  at("said").textContent = ofEvents ? "" : lines.join("\n");
  at("said-events").textContent = ofEvents ? lines.join("\n") : "";
}

function strip({ events, count }) {
  state.positions = state.positions.filter((k) => k < events.length);
  const choice = new Set(state.positions);
  const buttons = events.map((type, k) => {
    const button = create("button", { type: "button" }, type, create("small", { textContent: k }));
    button.setAttribute("aria-pressed", choice.has(k));
    button.setAttribute("aria-label", `event ${k}, ${type}`);
    button.addEventListener("click", () => {
      choice.has(k) ? choice.delete(k) : choice.add(k);
      state.positions = [...choice].sort((a, b) => a - b);
      select("why");
    });
    return button;
  });
  const rest = count > events.length ? [create("span", { textContent: `and ${count - events.length} more` })] : [];
  const focused = [...at("strip").children].indexOf(document.activeElement);
  at("strip").replaceChildren(...buttons, ...rest);
  at("strip").children[focused]?.focus();
}

const SHOW = {
  answers(reply, box) {
    const rows = reply.answers.map(([start, end, positions]) => {
      const why = create("button", { type: "button", textContent: "why" });
      why.addEventListener("click", () => {
        state.positions = positions;
        select("why");
      });
      return create("tr", {}, ...[start, end, `{${positions.join(", ")}}`].map((v) => create("td", { textContent: v })), create("td", {}, why));
    });
    const head = create("tr", {}, ...["start", "end", "positions"].map((v) => create("th", { textContent: v })), create("td"));
    const shown = reply.shown ?? rows.length; // row patterns have a table of their own
    const few = shown < Number(reply.total) ? `, the first ${shown} of them here` : "";
    box.innerHTML = reply.html;
    box.append(create("p", { id: "total", textContent: `${reply.total} answer${reply.total === "1" ? "" : "s"}${few}` }));
    if (rows.length) box.append(create("table", {}, head, ...rows));
    else if (reply.total === "0") box.append(create("p", { textContent: "Choose no position and open Why to see what would give one." }));
  },
  steps(reply, box) {
    const slider = create("input", { type: "range", min: 0, max: reply.frames.length - 1, value: 0 });
    slider.setAttribute("aria-label", "event");
    const frame = create("div", { className: "frame" });
    const draw = () => {
      frame.innerHTML = reply.frames[slider.value];
      reach(box);
    };
    const move = (step) => () => {
      slider.value = Number(slider.value) + step;
      draw();
    };
    const [previous, next] = [["previous", -1], ["next", 1]].map(([textContent, step]) => {
      const button = create("button", { type: "button", textContent });
      button.addEventListener("click", move(step));
      return button;
    });
    slider.addEventListener("input", draw);
    box.replaceChildren(previous, slider, next, frame, create("p", { textContent: LEGEND }));
    draw();
  },
  compare(reply, box) {
    box.innerHTML = reply.html;
    if (reply.witness === undefined) return;
    const take = create("button", { type: "button", textContent: "Use this stream" });
    take.addEventListener("click", () => {
      state.events = at("events").value = reply.witness;
      select("answers");
    });
    box.append(take);
  },
};

// What scrolls sideways can be scrolled by keys once it has the focus.
function reach(box) {
  for (const each of box.querySelectorAll(".cerlab, .cerlab-picture, .frame")) {
    if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
  }
}

function show(reply) {
  const box = at("shown");
  dim(reply.error);
  if (reply.error) return;
  if (SHOW[state.panel]) SHOW[state.panel](reply, box);
  else {
    box.innerHTML = reply.html;
    if (state.panel === "machine" && state.what !== "ast") box.append(create("p", { textContent: LEGEND }));
  }
  reach(box);
  applyTheme();
}

// -- controls -------------------------------------------------------------------------------------

function options() {
  const box = at("options");
  if (state.panel === "machine") {
    const choose = create("select", {}, ...Object.entries(STAGES).map(([value, text]) => create("option", { value, textContent: text })));
    choose.value = state.what;
    choose.setAttribute("aria-label", "stage");
    choose.addEventListener("change", () => {
      state.what = choose.value;
      refresh();
    });
    box.replaceChildren(choose);
  } else if (state.panel === "compare") {
    const other = create("textarea", { id: "other", rows: 4, spellcheck: false, value: state.other });
    other.setAttribute("aria-label", "the other query");
    other.addEventListener("input", () => {
      state.other = other.value;
      soon();
    });
    box.replaceChildren(create("span", { textContent: "The same answers on every stream as" }), other);
  } else if (state.panel === "why") {
    const none = create("button", { type: "button", textContent: "Why no answer at all?" });
    none.addEventListener("click", () => {
      state.positions = [];
      refresh();
    });
    box.replaceChildren(none);
  } else box.replaceChildren();
}

function select(panel, focus = false) {
  state.panel = panel;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const isOpen = tab.dataset.panel === panel;
    tab.setAttribute("aria-selected", isOpen);
    tab.tabIndex = isOpen ? 0 : -1;
    if (isOpen && focus) tab.focus();
  }
  at("shown").setAttribute("aria-labelledby", `tab-${panel}`);
  options();
  refresh();
}

let waiting;
const soon = () => {
  clearTimeout(waiting);
  waiting = setTimeout(refresh, QUIET);
};

function applyTheme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  document.body.dataset.jpThemeLight = String(!dark); // what the pictures go by
}

async function main() {
  recall();
  const texts = ["query", "events", "time"];
  const fill = () => {
    for (const name of texts) at(name).value = state[name];
    at("end").checked = state.end;
  };
  fill();
  for (const name of texts) {
    at(name).addEventListener("input", () => {
      state[name] = at(name).value;
      soon();
    });
  }
  at("end").addEventListener("change", () => {
    state.end = at("end").checked;
    refresh();
  });
  at("events").addEventListener("dragover", (event) => {
    event.preventDefault();
    at("events").classList.add("over");
  });
  at("events").addEventListener("dragleave", () => at("events").classList.remove("over"));
  at("events").addEventListener("drop", async (event) => {
    event.preventDefault();
    at("events").classList.remove("over");
    const [file] = event.dataTransfer.files;
    if (!file) return;
    state.events = at("events").value = await file.text();
    refresh();
  });
  at("example").append(create("option", { value: "", textContent: "choose" }), ...Object.keys(EXAMPLES).map((name) => create("option", { value: name, textContent: name })));
  at("example").addEventListener("change", () => {
    const example = EXAMPLES[at("example").value];
    if (!example) return;
    Object.assign(state, { positions: [], time: "", end: false }, example);
    fill();
    select(state.panel);
  });
  at("tabs").addEventListener("click", (event) => event.target.dataset.panel && select(event.target.dataset.panel));
  at("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const tabs = [...document.querySelectorAll("[role=tab]")];
    const here = tabs.findIndex((tab) => tab.dataset.panel === state.panel);
    select(tabs[(here + step + tabs.length) % tabs.length].dataset.panel, true);
  });
  at("theme").addEventListener("click", () => {
    const dark = document.body.dataset.jpThemeLight === "false";
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    applyTheme();
  });
  at("share").addEventListener("click", async () => {
    remember();
    await navigator.clipboard?.writeText(engine.link(location)).catch(() => {});
    at("status").textContent = engine.copied;
  });
  at("stop").addEventListener("click", () => {
    round += 1;
    at("stop").hidden = true;
    at("status").textContent = "stopped";
    engine.stop();
  });
  applyTheme();
  engine = await openEngine((text) => (at("status").textContent = text));
  select(state.panel);
}

main();
