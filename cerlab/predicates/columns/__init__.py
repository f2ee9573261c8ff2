"""Evaluation of predicates on columns: each event gets a number for its truth vector (CORE 4.4).

This is a second implementation of `cerlab.predicates.truth`. Reading order: `pieces` (the
arrays of a column), `axes` (atoms over the same attributes, as one class per event), this
module (the classes of all axes as one symbol), `kernels` (the loops), `lookup_tables` (their
tables, and the loops in NumPy) and `key_codes` (keys of partitions).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from cerlab.budget import poll
from cerlab.model.arrays import allocate
from cerlab.model.columns import Column
from cerlab.model.event import Event
from cerlab.predicates.columns.axes import Axis
from cerlab.predicates.columns.lookup_tables import BLOCK, Cells, Codes
from cerlab.predicates.columns.pieces import (
    combinations,
    concatenate,
    look_up,
    narrowest,
    operations,
    relevant_indices,
)
from cerlab.predicates.syntax import Atom, Predicate, atoms, attributes_of, holds

__all__ = ["Column", "SymbolStage", "relevant_indices"]

MAX_CELLS = 2**20
"""Above this many combinations of classes, do not use a dense table (4 MB)."""


class SymbolStage:
    """A function from columns of events to symbols: small numbers for truth vectors of predicates.

    Bit k of ``vectors[s]`` is set if the events with symbol s satisfy ``predicates[k]``. Vectors
    are listed in order of discovery and keep their number; ``vectors[0]`` is 0, where no predicate
    holds. The meaning is that of `cerlab.predicates.truth.satisfies`. For text and arithmetic, each
    distinct value (or combination of values) is evaluated once; comparisons of numbers with
    constants need no evaluation per value.
    """

    def __init__(self, predicates: Sequence[Predicate]) -> None:
        self.predicates = tuple(predicates)
        self.vectors: list[int] = [0]
        self._symbol_of: dict[int, int] = {0: 0}
        self._bit: dict[Atom, int] = {}
        by_names: dict[tuple[str, ...], list[tuple[int, Atom]]] = {}
        for P in self.predicates:
            for atom in atoms(P):
                if atom not in self._bit:
                    self._bit[atom] = len(self._bit)
                    names = tuple(sorted(attributes_of([atom])))
                    by_names.setdefault(names, []).append((self._bit[atom], atom))
        self._axes = [Axis(names, its_atoms) for names, its_atoms in by_names.items()]
        self._symbol_by_classes: dict[tuple[int, ...], int] = {}
        self._radices: list[int] = []
        self._lut: NDArray[np.int32] | None = None

    def symbols(self, columns: Mapping[str, Column], length: int) -> Codes:
        """Return the symbol of each event, shape (length,), in the narrowest unsigned dtype.

        `columns` has ``type``, optionally ``stream``, and attributes; an attribute without a column
        is missing in every event. Raises ValueError for a column of another length, `BadData` for
        column types that are not values of events, and `ResourceLimit` if memory is too small.
        """
        poll(4 * length * (1 + len(self._axes)))
        classes = [axis.classes(columns, length) for axis in self._axes]
        if length == 0:
            return np.zeros(0, np.uint8)
        counts = [len(axis.masks) for axis in self._axes]
        if prod(counts) > MAX_CELLS:
            return self._by_rows(classes, counts, length)
        # the old table has no cells for new classes
        if any(c > radix for c, radix in zip(counts, self._radices, strict=False)):
            self._lut = None
        if self._lut is None:
            self._radices = counts
            self._lut = np.full(prod(counts), operations().UNKNOWN, np.int32)
        return self._by_cells(classes, self._lut, length)

    def symbol(self, event: Event) -> int:
        """Return the symbol of one event, without columns."""
        classes = tuple([axis.class_of_event(event) for axis in self._axes])
        symbol = self._symbol_by_classes.get(classes)
        return self._symbol(classes) if symbol is None else symbol

    def know(self, vectors: Iterable[int]) -> None:
        """Assign symbols to truth vectors that no event has had yet."""
        for vector in vectors:
            self._number(vector)

    def _number(self, vector: int) -> int:
        symbol = self._symbol_of.setdefault(vector, len(self.vectors))
        if symbol == len(self.vectors):
            self.vectors.append(vector)
        return symbol

    def _by_cells(self, classes: list[Codes | int], lut: NDArray[np.int32], length: int) -> Codes:
        """Return the symbols from a table with one cell for each combination of classes."""
        base, stride = 0, 1
        strides: list[int] = []
        varying: list[Codes] = []
        for part, radix in zip(classes, self._radices, strict=True):
            if isinstance(part, int):
                # a class that all events share is added once, outside the loop over events
                base += stride * part
            else:
                varying.append(part)
                strides.append(stride)
            stride *= radix
        if not varying:
            return self._constant([c for c in classes if isinstance(c, int)], length)
        flat = concatenate(varying)
        pending = np.empty(min(lut.size, length), np.int32)
        cells = Cells(np.array(strides, np.int32), base, lut)
        while True:
            out = allocate(length, narrowest(len(self.vectors) - 1))
            count = operations().fuse(flat, cells, out, pending, np.empty(BLOCK, np.uint32))
            if not count:
                return out
            for cell in pending[:count].tolist():
                lut[cell] = self._symbol(self._digits(cell))

    def _by_rows(self, classes: list[Codes | int], counts: list[int], length: int) -> Codes:
        """Return the symbols from a dictionary, if a table would need too many cells."""
        varying = [k for k, part in enumerate(classes) if not isinstance(part, int)]
        parts = [part for part in classes if not isinstance(part, int)]
        if not parts:
            return self._constant([c for c in classes if isinstance(c, int)], length)
        first, code = combinations(parts, [counts[k] for k in varying])
        rows = np.stack([part[first].astype(np.int64) for part in parts], axis=1).tolist()
        row = [part if isinstance(part, int) else 0 for part in classes]
        ids = []
        for digits in rows:
            for k, digit in zip(varying, digits, strict=True):
                row[k] = digit
            ids.append(self._symbol(tuple(row)))
        table = np.array(ids, narrowest(len(self.vectors) - 1))
        return look_up(code, table)

    def _constant(self, classes: Sequence[int], length: int) -> Codes:
        symbol = self._symbol(tuple(classes))
        return np.full(length, symbol, narrowest(len(self.vectors) - 1))

    def _digits(self, cell: int) -> tuple[int, ...]:
        digits = []
        for radix in self._radices:
            cell, digit = divmod(cell, radix)
            digits.append(digit)
        return tuple(digits)

    def _symbol(self, classes: tuple[int, ...]) -> int:
        """Return the symbol of events with the given class on each axis."""
        symbol = self._symbol_by_classes.get(classes)
        if symbol is None:
            mask = 0
            for axis, c in zip(self._axes, classes, strict=True):
                mask |= axis.masks[c]
            vector = sum(
                1 << k
                for k, P in enumerate(self.predicates)
                if holds(P, lambda atom: bool(mask >> self._bit[atom] & 1))
            )
            symbol = self._number(vector)
            # symbols keep their numbers; only the mapping from classes is computed again
            if len(self._symbol_by_classes) >= MAX_CELLS:
                self._symbol_by_classes.clear()
            self._symbol_by_classes[classes] = symbol
        return symbol
