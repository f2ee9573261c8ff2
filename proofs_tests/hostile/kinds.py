"""Kinds of hostile inputs: each makes one of a seed and does with it what a user would."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, get_args

import numpy as np
import pyarrow as pa

import cerlab
import cerlab.io.text_reader
from cerlab.automata.plan import Plan, _digest, plan_from_json, plan_to_json
from cerlab.automata.strategy import machine_of
from cerlab.cli import COMMANDS, main
from cerlab.compile.cel_to_vcea import cel_to_vcea, vcea_to_cea
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.tecs_run import GeneralEvaluation
from cerlab.io.machines import machine_from_json, machine_to_json
from cerlab.lab import PANELS
from cerlab.lab import answer as lab_answer
from cerlab.logic.ceql.syntax import query_text
from cerlab.logic.gcq import Delete, Insert, answers_after_each
from cerlab.logic.sremo import sremo_text
from cerlab.magic import ceql_magic
from cerlab.rows.recognise import RowEvaluator
from cerlab.testing import (
    Shape,
    any_fo_formula,
    random_events,
    random_formula,
    random_query,
    random_row_pattern,
    random_row_table,
    random_sremo,
    random_sremo_events,
)
from proofs_tests.engine import hostile_states
from proofs_tests.hostile import buckets
from proofs_tests.hostile.files import (
    ANY,
    FORMATS,
    QUERY,
    SCHEMA,
    columnar_file,
    file_text,
    some_rows,
    text_file,
)
from proofs_tests.hostile.mutators import (
    NUMBERS,
    WORDS,
    WRONG,
    mutated_bytes,
    mutated_text,
    mutated_value,
)

SHAPE = Shape(depth=3, events=6, family=True)
GCQS = (
    "y, ts3 <- r(x, ts1), s(x, y, ts2), t(y, ts3) | ts1 < ts2, ts2 < ts3, ts3 - ts1 < 5",
    "x <- r(x, y), r(y, x) | x = y",
    "x, y <- s(x, y, z) | x + y * z > 3",
)


def python_events(rng: Random, folder: Path) -> None:
    """Events from Python: dicts with odd values, tables whose buffers do not fit, other things."""
    match rng.randrange(4):
        case 0:
            events: Any = mutated_value(rng, some_rows(rng, 5))
        case 1:
            events = rng.choice((*WRONG, b"x", object(), np.zeros(3), {"a"}, iter([{"type": "A"}])))
        case 2:
            offsets = [rng.choice((0, 1, 2, 3, 3, 9, -1, 1 << 30)) for _ in range(4)]
            buffers = [None, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(b"ABA")]
            try:
                types = pa.Array.from_buffers(pa.string(), 3, buffers)
            except pa.ArrowInvalid:  # which pyarrow does not make at all
                return
            events = pa.table({"type": types, "v": [1, 2, 3]})
        case _:
            codes = pa.array([rng.choice((0, 1, 2, -1, 99)) for _ in range(3)], pa.int8())
            texts = pa.DictionaryArray.from_arrays(codes, pa.array(["A", "B"]), safe=False)
            events = pa.table({"type": ["A", "B", "A"], "v": [1, 2, 3], "n": texts})
    query = rng.choice((QUERY, "A+", "A FILTER A[n = 'A']", "A ; B WITHIN 3 [v]"))
    if rng.random() < 0.3:
        session = cerlab.parse_query(
            f"SELECT * WHERE {query.removeprefix('SELECT * WHERE ')}"
        ).open()
        session.push(events)
        session.state()
        return
    evaluator = rng.choice(ANY)
    cerlab.evaluate(query, events, evaluator=evaluator, limit=rng.choice((None, 0, 20, *NUMBERS)))


def state(rng: Random, folder: Path) -> None:
    """The state of a session: its bytes, or its arrays with a digest that fits again."""
    query = cerlab.parse_query(rng.choice(hostile_states.TEXTS))
    session = query.open(time="t", unit="s")
    session.push(hostile_states.random_events(rng, rng.randrange(1, 30), 0))
    content: Any = session.state()
    if rng.random() < 0.5:
        content = hostile_states.edit_state(rng, content)
    elif rng.random() < 0.8:
        content = mutated_bytes(rng, content)
    else:
        content = rng.choice(WRONG)
    hostile_states.outcome_of_resume(query, content, hostile_states.random_events(rng, 12, 40))


def bucket(rng: Random, folder: Path) -> None:
    """The state of a bucket of keys in a checkpoint of Spark, changed."""
    buckets.gone_on(rng)


def plan(rng: Random, folder: Path) -> None:
    """A plan as JSON, mutated, perhaps with its digest made anew."""
    while (query := cerlab.parse_query(some_ceql(rng))).machine_kind != "automaton":
        pass
    document = plan_to_json(query.plan)
    document = mutated_value(rng, json.loads(json.dumps(document)))
    if isinstance(document, dict) and rng.random() < 0.8:
        body = {k: v for k, v in document.items() if k not in ("format", "version", "digest")}
        with suppress(ValueError, TypeError):  # what no plan can say
            document["digest"] = _digest(body)
    read: Plan = plan_from_json(document)
    run = GeneralEvaluation(read, LearnedTables(machine_of(read)))
    events = cerlab.Stream.from_events(hostile_states.random_events(rng, 8, 0))
    for batch in islice(run.push_columns(events.columns, len(events)), 20):
        list(islice(batch, 20))


def machine(rng: Random, folder: Path) -> None:
    """A machine as JSON."""
    cea = vcea_to_cea(cel_to_vcea(random_formula(rng, Shape(depth=2))))
    machine_from_json(json.dumps(mutated_value(rng, json.loads(machine_to_json(cea)))))


def some_ceql(rng: Random) -> str:
    """The text of a query that is in order."""
    return query_text(random_query(rng, SHAPE))


def ceql(rng: Random, folder: Path) -> None:
    """A query."""
    of_text(rng, mutated_text(rng, some_ceql(rng)), "ceql")


def cel(rng: Random, folder: Path) -> None:
    """A formula."""
    of_text(rng, mutated_text(rng, str(random_formula(rng, SHAPE))), "cel")


def focel(rng: Random, folder: Path) -> None:
    """A formula of FO-CEL."""
    of_text(rng, mutated_text(rng, str(any_fo_formula(rng, SHAPE))), "cel", logic="fo")


def of_text(rng: Random, text: str, language: Any, logic: Any = "so") -> None:
    """Evaluate a text, or decide about it."""
    phi = random_formula(rng, Shape(depth=1))
    stream = cerlab.Stream(random_events(rng, phi, SHAPE), **({} if rng.random() < 0.5 else _TIME))
    if language == "ceql" and rng.random() < 0.3:
        query = cerlab.parse_query(text)
        repr(query)
        cerlab.parse_query(str(query))
        query.open(time="t", unit="s").push(stream)
        return
    evaluator = rng.choice(ANY)
    cerlab.evaluate(text, stream, language=language, logic=logic, evaluator=evaluator, limit=20)


def _time() -> dict[str, Any]:
    from cerlab.model.stream import time_axis

    return {"time": time_axis("t", "s")}


_TIME = _time()


def sremo(rng: Random, folder: Path) -> None:
    """A SREMO."""
    e = random_sremo(rng)
    text = mutated_text(rng, sremo_text(e))
    events = random_sremo_events(rng, e)[:7]
    if rng.random() < 0.3:
        cerlab.matches(text, cerlab.Stream(events))
        return
    evaluator = rng.choice(ANY)
    cerlab.evaluate(text, cerlab.Stream(events), language="sremo", evaluator=evaluator, limit=20)


def gcq(rng: Random, folder: Path) -> None:
    """A generalised conjunctive query, on updates."""
    query = cerlab.parse_gcq(mutated_text(rng, rng.choice(GCQS)))
    repr(query)
    updates = [
        rng.choice((Insert, Insert, Delete))(
            relation, tuple(rng.choice((0, 1, 2, 3, 4, 1.5)) for _ in range(width))
        )
        for relation, width in (("r", 2), ("s", 3), ("t", 2), ("r", 2), ("s", 3))
    ]
    list(answers_after_each(query, updates))


def rows(rng: Random, folder: Path) -> None:
    """A row pattern, on rows in order or not."""
    text = mutated_text(rng, str(random_row_pattern(rng)))
    table: Any = random_row_table(rng)
    if rng.random() < 0.3:
        table = mutated_value(rng, table)
    by = rng.choice(get_args(RowEvaluator))
    cerlab.match_recognize(text, table, evaluator=by).to_pylist()


def schema(rng: Random, folder: Path) -> None:
    """Declarations."""
    declarations = cerlab.parse_schema(mutated_text(rng, SCHEMA))
    assert cerlab.parse_schema(str(declarations)) == declarations


def columns(rng: Random, folder: Path) -> None:
    """Columns and aggregates of answers, by names that may not be there."""
    names = ("x.v", "y.v", "y", "first(y.v)", "count(y)", "x.n", "start", "key", "A.v", "last(x.t)")

    def some() -> list[str]:
        some_names = rng.choices(names, k=rng.choice((0, 1, 1, 3)))
        return [mutated_text(rng, name) if rng.random() < 0.3 else name for name in some_names]

    text = rng.choice(
        (
            "SELECT * WHERE A AS x ; B+ AS y WITHIN 5 EVENTS",
            "SELECT * WHERE (A OR B) AS x ; (B ; C)+ AS y PARTITION BY [n] WITHIN 9 EVENTS LIMIT 9",
            some_ceql(rng),
        )
    )
    query, events = cerlab.parse_query(text), some_rows(rng, rng.choice((5, 40, 300)))
    if rng.random() < 0.5:
        while query.run(events).count() > 1_000:  # answers may be as many as subsets of the rows
            events = events[: len(events) // 2]
        query.run(events).table(some()).to_pylist()
    else:
        options = rng.sample(("sum", "avg", "min", "max", "group_by"), 2)
        query.run(events).aggregate(**{name: some() for name in options}).to_pylist()  # type: ignore[arg-type]


def conversion(rng: Random, folder: Path) -> None:
    """Convert events from one format to another, and the result to a third."""
    form = rng.choice(FORMATS)
    path = folder / f"from.{form}"
    text = file_text(rng, form)
    path.write_text(mutated_text(rng, text), encoding="utf-8", errors="replace")
    files = [folder / f"to.{rng.choice((*FORMATS, 'parquet', 'arrow'))}" for _ in range(2)]
    options = rng.choice(([], ["--sort"], ["--type", rng.choice(WORDS[:20])], ["--time", "t:s"]))
    if run_command(["convert", str(path), str(files[0]), *options]) == 0:
        read = list(cerlab.Stream.read(files[0]))
        if run_command(["convert", str(files[0]), str(files[1])]) == 0:
            assert len(list(cerlab.Stream.read(files[1]))) == len(read)


def lab(rng: Random, folder: Path) -> None:
    """A request to the lab."""
    request = {
        "panel": rng.choice(list(PANELS)),
        "query": mutated_text(rng, some_ceql(rng)),
        "events": mutated_text(rng, rng.choice(("A B A C", file_text(rng, rng.choice(FORMATS))))),
        "other": str(random_formula(rng, Shape(depth=1))),
        "positions": [0, 1],
        "what": rng.choice(("formula", "cea", "det", "table", "minterms")),
    }
    reply = lab_answer(mutated_value(rng, request) if rng.random() < 0.5 else request)
    json.dumps(reply)


def magic(rng: Random, folder: Path) -> None:
    """A cell of a notebook."""
    line = "stocks --limit 10 --evaluator tecs --as found --language ceql"
    names = {"stocks": [{"type": "A"}, {"type": "B"}], "other": rng.choice(WRONG)}
    cell = mutated_text(rng, "SELECT * WHERE A ; B WITHIN 3 EVENTS") if rng.random() < 0.7 else None
    with redirect_stderr(io.StringIO()):
        ceql_magic(names, mutated_text(rng, line), cell)


def command(rng: Random, folder: Path) -> None:
    """A command line: a command, a query and a file, with options that may not fit."""
    form = rng.choice(FORMATS)
    path = folder / f"c.{form}"
    path.write_text(mutated_text(rng, file_text(rng, form)), encoding="utf-8", errors="replace")
    language = rng.choice(("ceql", "cel", "sremo"))
    text = {"ceql": some_ceql, "cel": lambda r: str(random_formula(r)), "sremo": _sremo}[language](
        rng
    )
    text = mutated_text(rng, text) if rng.random() < 0.7 else text
    name = rng.choice(("run", "run", "run", "check", "show", "why", "fmt", "equivalent", *COMMANDS))
    name = "run" if name in ("demo", "spark", "fuzz", "lab", "trial") else name
    words = [name, text]
    if name in ("run", "why"):
        words.append(str(path))
    if name in ("equivalent", "contained"):
        words.append(str(random_formula(rng)))
    for _ in range(rng.randrange(4)):
        words += rng.choice(_options(rng, folder))
    words = [str(rng.choice(WORDS)) if rng.random() < 0.03 else word for word in words]
    if name == "run":
        words += ["--limit", "1000"]  # answers may be as many as subsets of the rows
    run_command(words)


def _sremo(rng: Random) -> str:
    return sremo_text(random_sremo(rng))


def _options(rng: Random, folder: Path) -> list[list[str]]:
    number = str(rng.choice(NUMBERS))
    out = str(folder / "out")
    return [
        *(["--limit", number], ["--positions", f"0,{number}"], ["--start", number]),
        *(["--time", rng.choice(("t:s", "v", ":", "t:x"))], ["--labels"], ["--events"], ["--sort"]),
        *(
            ["--format", rng.choice(("table", "parquet", "ndjson", "json", "svg", "dot"))],
            ["-o", out],
        ),
        *(["--quarantine", str(folder / "aside")], ["--type", rng.choice(WORDS)]),
        ["--evaluator", rng.choice(("auto", "lists", "compiled", "registers", "reference"))],
        ["--what", rng.choice(("vcea", "cea", "det", "table", "max", "srt", "minterms"))],
        ["--language", rng.choice(("ceql", "cel", "sremo", "rows"))],
    ]


def run_command(words: list[str]) -> int:
    """Run a command: its exit status; raises where that says that it is at fault."""
    errors = io.StringIO()
    encoding = "ascii" if len(words) % 3 == 0 else "utf-8"
    with redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding)), redirect_stderr(errors):
        try:
            status = main(words)
        finally:
            sys.stdout.flush()
    assert status in (0, 1, 2, 3), f"exit status {status} of {words!r}\n{errors.getvalue()}"
    assert "Traceback" not in errors.getvalue(), errors.getvalue()
    return status


KINDS: dict[str, Callable[[Random, Path], None]] = {
    "text": text_file,
    "columnar": columnar_file,
    "events": python_events,
    "state": state,
    "bucket": bucket,
    "plan": plan,
    "machine": machine,
    "ceql": ceql,
    "cel": cel,
    "focel": focel,
    "sremo": sremo,
    "gcq": gcq,
    "rows": rows,
    "columns": columns,
    "converted": conversion,
    "lab": lab,
    "schema": schema,
    "magic": magic,
    "command": command,
}


def kind_of(seed: int) -> str:
    """The kind of the input of a seed: all in turn."""
    return list(KINDS)[seed % len(KINDS)]


def warm_up(folder: Path) -> None:
    """Load what loads at its first use, so that no input pays for it."""
    events = [{"type": kind, "t": n, "k": 0} for n, kind in enumerate("ABCABB")]
    stream = cerlab.Stream.from_events(events, time="t", unit="s")
    for text in hostile_states.TEXTS:
        cerlab.evaluate(text, stream, evaluator="compiled", limit=1)
        session = cerlab.parse_query(text).open(time="t", unit="s")
        session.push(stream)
        session.state()
    for evaluator in ANY:
        cerlab.evaluate("A ; B", stream, evaluator=evaluator)
    clause = "MATCH_RECOGNIZE (MEASURES LAST(B.t) AS m PATTERN (A B) DEFINE B AS t > PREV(t))"
    cerlab.match_recognize(clause, events)
    cerlab.satisfiable("A ; B FILTER A[v + w > 1] AND B[n LIKE 'x']")
