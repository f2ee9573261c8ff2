"""Answers with their labels: rows for tables and for valuations, for every evaluator.

An answer has a row for each way to label its positions, where ways that differ only in labels that
were not requested are one; so it has at least one row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Protocol

from cerlab.automata.labelled import repeated_labels
from cerlab.compile.pattern import AnyPattern, Pattern, WaitStages
from cerlab.compile.waiting import Labels
from cerlab.engine.reference import driver
from cerlab.engine.reference.registers import Marks
from cerlab.engine.reference.runs import VceaRuns
from cerlab.engine.tested import holds, projected
from cerlab.errors import Unsupported
from cerlab.evaluate.protocol import Evaluator
from cerlab.evaluate.separation import fast_form
from cerlab.io.named_columns import (
    PLACES,
    AnswerColumns,
    NamedColumn,
    at_place,
    check_columns,
    names_label,
    read_column,
    refuse_same,
    refuse_twice,
)
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.check import label_types
from cerlab.logic.ceql.semantics import query_valuations
from cerlab.logic.ceql.syntax import SelectItem, partition_attributes, selected_formula
from cerlab.model.answer import ComplexEvent, Valuation, complex_event, valuation_latest_first
from cerlab.model.arrays import array_from
from cerlab.model.columns import values_of
from cerlab.model.stream import Stream, axis_of_windows
from cerlab.predicates.text import predicate_text

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch
    from cerlab.engine.kernels.arrays import Int64s
    from cerlab.engine.labels import Label, LabelledAnswers
    from cerlab.engine.measures import AggregateInputs, EndTotals


_SOME = 1 << 12
"""Number of answers that are labelled together if an evaluator yields them one by one."""


class LabelsOfAnswers(Evaluator, Protocol):
    """An evaluator whose valuations are its answers, each with its labels."""

    def valuations(self, stream: Stream) -> Iterator[Valuation]:
        """Return the answers, each with its labels."""
        if not isinstance(self.pattern, Pattern) or not has_labels(self.pattern):
            return super().valuations(stream)
        return labelled_valuations(self.pattern, stream, self.answers(stream))


def has_labels(pattern: Pattern, *, live: bool = False) -> bool:
    """Return whether a machine can label answers; `live`: without reading later events."""
    if pattern.machine_kind != "waits":
        return pattern.machine_kind is not None
    waiting = pattern.waits
    assert waiting is not None, "the query waits"
    return waiting.labels_of_body is not None or (not live and waiting.labels is not None)


def _labelled_waits(pattern: Pattern) -> tuple[WaitStages, Labels] | None:
    """Return the machines that run and that label a query with WAIT; None if either is missing."""
    waiting = pattern.waits if pattern.machine_kind == "waits" else None
    labels = None if waiting is None else waiting.labels_of_body or waiting.labels
    return None if waiting is None or labels is None else (waiting, labels)


def labelled_answers(
    pattern: Pattern,
    stream: Stream,
    batches: Iterable[AnswerBatch],
    labels: Collection[str] | None = None,
) -> Iterator[LabelledAnswers]:
    """Yield answers with their labels, as rows; `labels` are the labels to include, None all.

    The rows come from the machine with the labels, or from the valuations of the reference.
    """
    if pattern.machine_kind in ("automaton", "registers"):
        yield from map(label_of(pattern, stream, labels), batches)
    elif pattern.machine_kind == "listed":
        yield from _labels_of_tested(pattern, stream, batches, labels)
    elif (labelled := _labelled_waits(pattern)) is not None:
        yield from _labels_of_waits(*labelled, stream, batches, labels)
    else:
        from cerlab.engine.labels import rows_of_ways  # Numba loads here

        ways_of = _reference_ways(pattern, stream)
        yield from (rows_of_ways(batch, ways_of, labels) for batch in batches)


def label_of(pattern: Pattern, stream: Stream, labels: Collection[str] | None) -> Label:
    """Return a function that labels batches of answers by an automaton or a transducer."""
    if pattern.machine_kind == "automaton":
        return pattern.label_machine.label(pattern.plan, stream, labels)
    fast = fast_form(pattern, stream, quietly=True)
    assert isinstance(fast, Pattern)
    return fast.label_machine.label(fast.registers, stream, labels)


def _labels_of_waits(
    waiting: WaitStages,
    of_answers: Labels,
    stream: Stream,
    batches: Iterable[AnswerBatch],
    labels: Collection[str] | None,
) -> Iterator[LabelledAnswers]:
    """Yield labelled answers of a query with WAIT, by a machine that reads up to the last mark.

    Without such a machine, use one that waits as the answers do.
    """
    from cerlab.engine.waits.whole import WholeStream

    plan, (_, timed) = waiting.plan, of_answers
    if timed:
        time = axis_of_windows(plan.windows, stream)
        stream = WholeStream(plan, waiting.tables, stream, time).placed(timed)
    label = waiting.label_machine.label(plan, stream, labels)
    ends_with_marks = (plan.is_carried or plan.look_backs) and of_answers is waiting.labels_of_body
    for batch in batches:
        if not ends_with_marks:
            yield label(batch)
            continue
        ended = replace(batch, end=batch.positions[batch.offsets[1:] - 1])
        if plan.look_backs:
            ended = replace(ended, start=batch.positions[batch.offsets[:-1]])
        rows = label(ended)
        yield rows._replace(start=batch.start[rows.answer], end=batch.end[rows.answer])


def _labels_of_tested(
    pattern: Pattern,
    stream: Stream,
    batches: Iterable[AnswerBatch],
    labels: Collection[str] | None,
) -> Iterator[LabelledAnswers]:
    """Yield labelled answers whose labels pass the filter.

    If SELECT omits labels, an automaton lists the answers again, in Python. Raise `Unsupported` if
    there is no automaton for it.
    """
    from cerlab.engine.labels import rows_of_ways, valuations_of_rows  # Numba loads here
    from cerlab.engine.tested_rows import RowTests

    assert pattern.tested is not None, "answers are listed"
    listed, plan = pattern.tested
    if plan.labels is not None and listed.machine_kind != "automaton":
        raise Unsupported(
            "CER0408",
            f"{predicate_text(plan.condition)} is tested before SELECT omits labels",
            hint="write SELECT *, and name the columns",
        )
    event, tests = stream.events.__getitem__, RowTests(plan.condition, stream)
    for batch in batches:
        ways: dict[ComplexEvent, dict[Marks, None]] = {answer: {} for answer in batch}
        if plan.labels is None:
            rows = map(tests.passing, labelled_answers(listed, stream, [batch]))
            valuations: Iterator[Valuation] = chain.from_iterable(map(valuations_of_rows, rows))
        else:
            runs = partial(VceaRuns, listed.labelled, listed.plan.strategy)
            every = driver.run(listed.plan, runs, stream, stream.time)
            valuations = (V for V in every if holds(plan.condition, V.labels, event))
        for V in valuations:
            kept = projected(plan, V, event)
            answer = complex_event(kept)
            if answer in ways:
                ways[answer][tuple(_labels_at(kept, p) for p in answer.positions)] = None
        yield rows_of_ways(batch, ways.__getitem__, labels)


def _reference_ways(pattern: Pattern, stream: Stream) -> Callable[[ComplexEvent], Iterable[Marks]]:
    from cerlab.logic.cel.semantics import valuations as so_valuations

    ways: dict[ComplexEvent, list[Marks]] = {}
    for V in query_valuations(replace(pattern.ast, limit=None), stream, so_valuations):
        answer = complex_event(V)
        marks = tuple(_labels_at(V, p) for p in answer.positions)
        ways.setdefault(answer, []).append(marks)
    return lambda answer: sorted(ways[answer], key=lambda marks: [sorted(L) for L in marks])


def _labels_at(V: Valuation, position: int) -> frozenset[str]:
    return frozenset(label for label, D in V.labels.items() if position in D)


def labelled_valuations(
    pattern: Pattern, stream: Stream, answers: Iterable[ComplexEvent]
) -> Iterator[Valuation]:
    """Yield answers with their labels, by end and up to the LIMIT of each end.

    LIMIT applies to the valuations of each end, as it already did to `answers`.
    """
    from cerlab.engine.labels import valuations_of_rows

    rows = labelled_answers(pattern, stream, in_batches(answers))
    valuations = chain.from_iterable(map(valuations_of_rows, rows))
    per_end = pattern.ast.limit.per_end if pattern.ast.limit else None
    if per_end is None:
        return valuations
    ends = groupby(valuations, key=lambda V: V.end)
    return chain.from_iterable(
        sorted(ending, key=valuation_latest_first)[:per_end] for _, ending in ends
    )


def in_batches(answers: Iterable[ComplexEvent]) -> Iterable[AnswerBatch]:
    """Return answers in batches: those of the compiled engine, or new ones."""
    from cerlab.engine.answers import BatchedAnswers, batched_answers

    if isinstance(answers, BatchedAnswers):
        return answers.batches()
    return batched_answers(answers, _SOME)


def listed_totals(
    pattern: Pattern,
    stream: Stream,
    answers: Iterable[ComplexEvent],
    inputs: AggregateInputs,
    *,
    by_start: bool,
) -> EndTotals:
    """Return totals over answers and their labels, read in batches."""
    from cerlab.engine.measures import totals_of_rows

    rows = labelled_answers(pattern, stream, in_batches(answers), inputs.labels)
    return totals_of_rows(rows, inputs, by_start=by_start)


def answer_tables(
    pattern: Pattern,
    stream: Stream,
    batches: Iterable[AnswerBatch],
    columns: Iterable[str] | None,
    *,
    positions: Int64s | None = None,
) -> Iterator[Any]:
    """Yield the labelled rows of answers as pyarrow Tables, and a last table without rows.

    Raise as `answer_columns`.
    """
    from cerlab.engine.answers import join_answers

    layout, labels = answer_columns(pattern, stream, columns, positions=positions)
    some = chain(batches, map(join_answers, ((),)))
    return map(layout.table, labelled_answers(pattern, stream, some, labels))


def rows_of_part(
    pattern: Pattern,
    part: Stream,
    offset: int,
    answers: Sequence[ComplexEvent] | AnswerBatch,
    columns: Sequence[str] | None,
) -> Any:
    """Return the labelled rows of answers when only events from position `offset` on are known.

    It is a table as of `answer_tables`; an attribute that no event of the part has is NULL.
    """
    import numpy as np

    from cerlab.engine.answers import AnswerBatch, batched_answers, join_answers

    positions = np.arange(offset, offset + len(part))
    layout, labels = answer_columns(pattern, part, columns, positions=positions)
    if not isinstance(answers, AnswerBatch):
        answers = join_answers([*batched_answers(answers, max(1, len(answers)))])
    near = answers.shift_positions(-offset)
    (rows,) = labelled_answers(pattern, part, [near], labels)
    return layout.table(rows)


def answer_columns(
    pattern: Pattern,
    stream: Stream,
    columns: Iterable[str] | None,
    *,
    positions: Int64s | None = None,
) -> tuple[AnswerColumns, frozenset[str]]:
    """Return a function that makes tables of labelled rows, and the set of labels that it needs.

    Columns ``start``, ``end`` and the partition's key are always included; `positions` are those of
    the events if `stream` is a part of a longer stream, which may lack attributes. Raise
    `UsageError` for a text that is not a column, a label that no answer has and an attribute that
    no event has.
    """
    has_names = positions is None and len(stream) > 0
    label_columns = named_columns(pattern, columns, stream.columns, empty=not has_names)
    key = partition_attributes(pattern.ast)
    layout = AnswerColumns(
        label_columns, stream, key=key, repeatable=repeatable_labels(pattern), positions=positions
    )
    return layout, frozenset(column.label for column in label_columns)


def named_columns(
    pattern: Pattern, columns: Iterable[str] | None, names: Collection[str], *, empty: bool = False
) -> list[NamedColumn]:
    """Return the columns that the texts `columns` name; for None, the columns of SELECT.

    `names` are the attributes of events; for an `empty` stream they are not known. Raise as
    `answer_columns`.
    """
    key = partition_attributes(pattern.ast)
    refuse_twice(key, PLACES)
    if columns is None:
        label_columns = default_columns(pattern, names)
        refuse_twice(key, [column.name for column in label_columns])
        return label_columns
    texts, labels = list(dict.fromkeys(columns)), selected_labels(pattern)
    refuse_twice([name for name in key if names_label(name, labels)], texts)
    apart = (*PLACES, *key)
    label_columns = [at_place(read_column(text), labels) for text in texts if text not in apart]
    check_columns(label_columns, labels, None if empty else names, others=apart)
    refuse_same([*apart, *(column.name for column in label_columns)])
    return label_columns


def default_columns(pattern: Pattern, names: Collection[str]) -> list[NamedColumn]:
    """Return a column for each attribute of SELECT: those in brackets, or all of a label.

    The labels of ``*`` are the variables, or the event types if there are no variables.
    """
    labels = selected_labels(pattern)
    items = pattern.ast.items
    if items is None:
        types = {psi.type for psi in cel.subformulas(pattern.formula) if isinstance(psi, cel.Atom)}
        items = tuple(SelectItem(label) for label in sorted(labels - types or labels))
    return [
        NamedColumn(f"{item.label}.{attribute}", item.label, attribute)
        for item in items
        if item.label in labels
        for attribute in item.attributes or _attributes(pattern, names, item.label)
    ]


def _attributes(pattern: Pattern, names: Iterable[str], label: str) -> list[str]:
    """Return the attributes that events with a label may have."""
    if pattern.schema is None:
        return [name for name in names if name not in ("type", "stream")]
    types = label_types(pattern.formula).get(label, frozenset())
    event_types = [event for name in sorted(types) if (event := pattern.schema.event(name))]
    return list(
        dict.fromkeys(attribute.name for event in event_types for attribute in event.attributes)
    )


def selected_labels(pattern: Pattern) -> frozenset[str]:
    """Return the labels that answers may have after SELECT."""
    return cel.defined_labels(selected_formula(pattern.ast))


def repeatable_labels(pattern: Pattern) -> frozenset[str]:
    """Return the labels that may hold several events."""
    if pattern.machine_kind == "automaton":
        return repeated_labels(pattern.labelled)
    if pattern.machine_kind == "registers":
        return repeated_labels(pattern.labelled_registers)
    if pattern.machine_kind == "listed" and pattern.tested is not None:
        return repeatable_labels(pattern.tested.query)
    if (labelled := _labelled_waits(pattern)) is not None:
        _, labels = labelled
        return repeated_labels(labels.machine)
    # without a machine: a window or a wait selects answers and moves their ends, and sets no label
    body = _without_times(pattern.formula)
    if body != pattern.formula:
        return repeatable_labels(pattern.replaced(formula=body))
    return selected_labels(pattern)


def _without_times(phi: cel.Formula) -> cel.Formula:
    """Return the formula without its windows in time and its waits."""
    if isinstance(phi, cel.Within | cel.Wait):
        return _without_times(phi.body)
    for n, psi in enumerate(cel.children(phi)):
        phi = cel.with_child(phi, n, _without_times(psi))
    return phi


def event_texts(
    pattern: AnyPattern,
    stream: Stream,
    offset: int,
    answers: AnswerBatch,
    attributes: Sequence[str] | None,
) -> Any:
    """Return the events of each answer as JSON objects, as ``SELECT x[attr, ..]`` shows them.

    `stream` holds the events from position `offset` on; they have those `attributes`, possibly
    NULL, or with None their own. The result holds lists of large_binary, which is JSON already
    (`cerlab.io.text_writer`).
    """
    import numpy as np
    import pyarrow as pa

    from cerlab.io.text_writer import event_columns, event_lines

    first, last = int(answers.offsets[0]), int(answers.offsets[-1])
    rows = answers.positions[first:last] - offset
    shown: list[frozenset[str] | None] | None = None
    items = pattern.ast.items or () if isinstance(pattern, Pattern) else ()
    if isinstance(pattern, Pattern) and any(item.attributes for item in items):
        sets, numbers = _label_sets(pattern, stream, answers.shift_positions(-offset))
        # one text for each event and set of labels, since answers share most of their events
        pairs, place = np.unique(rows * len(sets) + numbers, return_inverse=True)
        rows, set_of = np.divmod(pairs, len(sets))
        has_streams = any(item.stream for item in items)
        streams = values_of(stream.columns["stream"], "stream") if has_streams else ()
        shown = [
            _shown(items, sets[n], streams[row] if streams else None)
            for row, n in zip(rows.tolist(), set_of.tolist(), strict=True)
        ]
    else:
        rows, place = np.unique(rows, return_inverse=True)
    if attributes is None:
        texts = event_lines(stream.events, rows.tolist(), offset, shown)
    else:
        texts = event_columns(stream.columns, attributes, rows, offset, shown)
    offsets = array_from(answers.offsets.astype(np.int64) - first)
    return pa.LargeListArray.from_arrays(offsets, texts.take(array_from(place)))


def _shown(
    items: Sequence[SelectItem], labels: frozenset[str], stream: Any
) -> frozenset[str] | None:
    """Return the attributes that SELECT shows of an event with these labels; None for all.

    An event with several labels shows the attributes of all of them; a label without brackets shows
    all.
    """
    groups = [
        item.attributes
        for item in items
        if item.label in labels and (item.stream is None or stream in (None, item.stream))
    ]
    return frozenset[str]().union(*groups) if groups and all(groups) else None


def _label_sets(
    pattern: Pattern, stream: Stream, answers: AnswerBatch
) -> tuple[list[frozenset[str]], Int64s]:
    """Return the label sets of each position, over all labellings of the answers.

    For each position of the answers, one after the other, also return the number of its set.
    """
    import numpy as np

    (rows,) = labelled_answers(pattern, stream, [answers])
    if len(rows.answer) == len(answers):
        return list(rows.labels), rows.marks.astype(np.int64)
    first = answers.offsets[:-1].astype(np.int64) - int(answers.offsets[0])
    lengths = np.diff(rows.offsets)
    inside = np.arange(len(rows.marks)) - np.repeat(rows.offsets[:-1], lengths)
    places = np.repeat(first[rows.answer], lengths) + inside
    united: dict[int, frozenset[str]] = {}
    for place, mark in zip(places.tolist(), rows.marks.tolist(), strict=True):
        united[place] = united.get(place, frozenset()) | rows.labels[mark]
    numbers: dict[frozenset[str], int] = {}
    of_place = [numbers.setdefault(united[n], len(numbers)) for n in range(len(united))]
    return list(numbers), np.array(of_place, np.int64)
