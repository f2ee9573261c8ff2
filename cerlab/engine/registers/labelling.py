"""The labels of answers where filters compare labels: a transducer on one stream, for batches."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from cerlab.automata.labelled import LabelledSrt
from cerlab.automata.plan import PlanClauses
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.growth import double_room
from cerlab.engine.kernels.arrays import NONE, Answers, Int32s, Int64s
from cerlab.engine.kernels.labelling import EVERYWHERE, Rows
from cerlab.engine.kernels.registers import labelling as k
from cerlab.engine.kernels.registers.arrays import Events
from cerlab.engine.labelled_rows import LabelledAnswers, Substreams, labelled_rows, list_rows
from cerlab.engine.labelling import MOST_CHANGES
from cerlab.engine.registers.codes import codes_of
from cerlab.engine.registers.evaluation import MAX_RULES
from cerlab.engine.registers.operands import Names, computes, event_atoms, names_of
from cerlab.engine.registers.program import labelling_program
from cerlab.engine.registers.residual import NotTaken
from cerlab.engine.registers.rules import labelling_tables
from cerlab.model.stream import Stream
from cerlab.predicates.columns import SymbolStage

ROOM = 64
"""So many configurations of one answer have room at first."""


class RegisterLabelling:
    """A transducer with labels on one stream, for batches of the answers of its plan."""

    def __init__(
        self,
        A: LabelledSrt,
        plan: PlanClauses,
        stream: Stream,
        labels: Collection[str] | None = None,
    ) -> None:
        """`labels` are those that are told apart, None for all; raises `NotTaken`."""
        if any(computes(t.guard) for t in A.Delta):
            raise NotTaken("a guard computes with what it compares with a register")
        program, of_moves = labelling_program(A)
        label_sets = [
            None if not L else L if labels is None else L.intersection(labels) for L in of_moves
        ]
        self.marks = tuple(sorted({L for L in label_sets if L is not None}, key=sorted))
        mark = [NONE if L is None else self.marks.index(L) for L in label_sets]
        atoms, names = event_atoms(program), names_of(program)
        stage = SymbolStage(atoms)
        symbols = stage.symbols(stream.columns, len(stream))
        self._substreams = Substreams(plan, stream)
        order = self._substreams.order
        read = (symbols if order is None else symbols[order]).astype(np.int32)
        if max(len(program.moves), program.states) * len(stage.vectors) > MAX_RULES:
            raise NotTaken("there are too many kinds of events")
        self._rules, waits = labelling_tables(program, names, atoms, stage.vectors)
        self._events = _events(names, stream, read, order)
        self._labels = _labels(A, mark, waits, read)
        self._runs = _empty_trellis(len(names.slots))

    def of(self, answers: AnswerBatch) -> LabelledAnswers:
        """The rows of some answers, in their order: by marks, as `marks` has them."""
        local = self._substreams.in_substreams(answers)
        reg = np.zeros(k.ALL, np.int64)
        self._runs.bucket_of[:] = self._runs.inside[:] = 0

        def read(some: Answers, rows: Rows) -> int:
            return k.label_by_registers(
                self._rules, self._labels, self._events, some, self._runs, rows, reg
            )

        def provide() -> None:
            self._runs = double_room(self._runs)

        return labelled_rows(answers, list_rows(local, reg, read, provide), self.marks)


def _events(names: Names, stream: Stream, symbols: Int32s, order: Int64s | None) -> Events:
    """The events of all substreams, with the codes of what they bring."""
    constants = [constant.value for constant in names.constants]
    values, codes = codes_of(stream.columns, names.values, constants, len(stream))
    rows = np.stack(values, axis=1) if values else np.zeros((len(stream), 0), np.int64)
    nothing = np.zeros(0, np.int64)
    return Events(
        symbol=symbols,
        values=rows if order is None else rows[order],
        position=nothing,
        order=nothing,
        lowest=nothing,
        constants=np.array(codes, np.int64),
    )


def _labels(A: LabelledSrt, mark: list[int], waits: NDArray[np.bool_], symbols: Int32s) -> k.Labels:
    changes, at, total = [], [np.zeros(0, np.int64)], 0
    for q in range(A.states):
        elsewhere = ~waits[:, q]
        if elsewhere.all() or total > MOST_CHANGES:
            changes.append(EVERYWHERE)
            continue
        at.append(np.flatnonzero(elsewhere[symbols]))
        changes.append(len(at[-1]))
        total += len(at[-1])
    room = np.maximum(changes, 0)
    return k.Labels(
        begin=A.q0,
        final=np.array([q in A.F for q in range(A.states)], np.uint8),
        mark=np.array(mark, np.int32),
        changes=np.array(changes, np.int64),
        change_first=np.cumsum(room) - room,
        change_at=np.concatenate(at),
    )


def _empty_trellis(slots: int) -> k.Trellis:
    def ints(size: int) -> Int32s:
        return np.zeros(size, np.int32)

    return k.Trellis(
        state=ints(ROOM),
        slots=np.zeros((ROOM, slots), np.int64),
        first=ints(ROOM + 1),
        accepts=np.zeros(ROOM, np.uint8),
        layer=ints(ROOM + 1),
        mark=ints(4 * ROOM),
        target=ints(4 * ROOM),
        bucket=ints(2 * ROOM),
        bucket_of=np.zeros(2 * ROOM, np.int64),
        next=ints(ROOM),
        members=ints(ROOM),
        inside=np.zeros(ROOM, np.int64),
        begin=ints(ROOM + 1),
        mark_of=ints(ROOM),
    )
