"""Kernels for conditions that read rows of a match: programs of a stack machine.

A value is a double and a NULL flag: integers are below 2**53, truth values are 0 and 1, texts are
ranks. `cerlab.rows.stack_compiler` makes the programs.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import Bytes, Int32s, Int64s, inline, kernel
from cerlab.engine.kernels.limbs import rounded

Doubles = NDArray[np.float64]

OWN, FIRST, LAST, SIZE, NUMBER, COUNT, SUM, AVG, MIN, MAX, FIRST_LABEL, LAST_LABEL = range(12)
"""Sources of a value: the row under test, first or last rows of a name, their number, the match's
number, aggregates over them, labels of the first or last."""

(CONSTANT, LOAD, CHOOSE, NOT, IS_NULL, IS, NEGATE, ABSOLUTE, EQ, NE, LT, LE, GT, GE) = range(14)

(AND, OR, ADD, SUB, MUL, DIV, MOD, COALESCE, NULL_IF) = range(14, 23)
"""Operators. The argument of CONSTANT is its index, of LOAD the index of the load, of IS the truth
value."""


class Programs(NamedTuple):
    """The programs of all conditions; that of variable v is ``first[v] .. first[v + 1]``."""

    first: Int32s  # (variables + 1,)
    op: Int32s  # (operators,)
    argument: Int32s  # (operators,)
    constant: Doubles  # (constants,), NaN for NULL
    load: Int32s  # (loads, 5): where, name, offset or fold, column or labels, step
    value: Doubles  # (columns, rows)
    null: Bytes  # (columns, rows)
    label: Doubles  # (tables, variables): the number of each variable's label
    fold: Int32s  # (folds, 6): aggregate, name, column; first limb, limbs, exponent
    limb: NDArray[np.int64]  # (limbs, rows): doubles as limbs, for exact sums
    stack: Doubles  # (deepest stack,)
    absent: Bytes  # (deepest stack,): whether each value is NULL


class MappedRows(NamedTuple):
    """The rows of each name in a match in progress, and aggregates over them."""

    has_name: Bytes  # (variables, names): whether a name includes a variable
    rows: Int64s  # (names, longest partition)
    size: Int64s  # (names,)
    total: Doubles  # (folds, longest partition + 1): aggregates by number of rows
    present: Int64s  # (folds, longest partition + 1): the number of values
    limb: NDArray[np.int64]  # (limbs, longest partition + 1): exact sums by number of rows
    work: Int64s  # (limbs + 2,)
    start: Int64s  # (1,): the row where the match begins
    variable: Int32s  # (longest partition,): the variable of each row


@kernel
def push(P: Programs, M: MappedRows, v: int, row: int) -> None:
    """Add a row to the match as a variable."""
    M.variable[row - M.start[0]] = v
    for name in range(len(M.size)):
        if M.has_name[v, name]:
            M.rows[name, M.size[name]] = row
            M.size[name] += 1
    for k in range(len(P.fold)):
        name = P.fold[k, 1]
        if M.has_name[v, name]:
            _fold(P, M, k, M.size[name], row)


@inline
def pop(M: MappedRows, v: int) -> None:
    """Remove the last row of the match, which has the given variable."""
    for name in range(len(M.size)):
        M.size[name] -= M.has_name[v, name]


@inline
def _fold(P: Programs, M: MappedRows, k: int, size: int, row: int) -> None:
    """Update an aggregate by one more row of its name.

    `size` is the number of rows before it.
    """
    which, column = P.fold[k, 0], P.fold[k, 2]
    # one state per number of rows, so that removing a row restores the earlier state
    total, present = M.total[k, size - 1], M.present[k, size - 1]
    first = P.fold[k, 3]
    for d in range(first, first + P.fold[k, 4]):
        M.limb[d, size] = M.limb[d, size - 1] + P.limb[d, row]  # the limbs of NULL are 0
    if not P.null[column, row]:
        value = P.value[column, row]
        if which in (SUM, AVG):
            total += value
        elif present == 0 or (which == MIN and value < total) or (which == MAX and value > total):
            total = value
        present += 1
    M.total[k, size], M.present[k, size] = total, present


@kernel
def holds(P: Programs, M: MappedRows, v: int, row: int, number: int) -> bool:
    """Return whether the condition of a variable is TRUE on the last row of the match."""
    top = -1
    for k in range(P.first[v], P.first[v + 1]):
        op, argument = P.op[k], P.argument[k]
        if op == CONSTANT:
            top += 1
            constant = P.constant[argument]
            P.stack[top], P.absent[top] = constant, constant != constant
        elif op == LOAD:
            top += 1
            _load(P, M, argument, row, number, top)
        elif op == CHOOSE:
            # a stack program has no jumps, so both branches are computed
            top -= 2
            branch = top + 1 if not P.absent[top] and P.stack[top] == 1 else top + 2
            P.stack[top], P.absent[top] = P.stack[branch], P.absent[branch]
        elif op <= ABSOLUTE:
            _unary(P, op, argument, top)
        else:
            top -= 1
            _binary(P, op, top)
    return not P.absent[0] and P.stack[0] == 1


@inline
def _load(P: Programs, M: MappedRows, k: int, row: int, number: int, top: int) -> None:
    """Read a column, label or aggregate, and push its value."""
    where, name, offset, column = P.load[k, 0], P.load[k, 1], P.load[k, 2], P.load[k, 3]
    if where >= FIRST_LABEL:
        P.absent[top] = 1
        if M.size[name] > offset:
            i = M.rows[name, offset if where == FIRST_LABEL else M.size[name] - 1 - offset]
            i += P.load[k, 4] - M.start[0]
            if 0 <= i <= row - M.start[0]:
                P.stack[top], P.absent[top] = P.label[column, M.variable[i]], 0
        return
    if where <= LAST:
        at = row
        if where != OWN:
            if M.size[name] <= offset:
                P.absent[top] = 1
                return
            at = M.rows[name, offset if where == FIRST else M.size[name] - 1 - offset]
        P.stack[top], P.absent[top] = P.value[column, at], P.null[column, at]
        return
    P.absent[top] = 0
    if where == SIZE:
        P.stack[top] = M.size[name]
    elif where == NUMBER:
        P.stack[top] = number
    else:
        total, present = M.total[offset, M.size[name]], M.present[offset, M.size[name]]
        if where == COUNT:
            P.stack[top] = present
        elif present == 0:
            P.absent[top] = 1
        else:
            first, count = P.fold[offset, 3], P.fold[offset, 4]
            if count:
                exponent = P.fold[offset, 5]
                total = rounded(M.limb, first, count, M.size[name], exponent, M.work)
            P.stack[top] = total / present if where == AVG else total


@inline
def _unary(P: Programs, op: int, truth: int, top: int) -> None:
    """Replace the top of the stack by a function of it."""
    a, absent = P.stack[top], P.absent[top]
    if op == IS_NULL:
        P.stack[top], P.absent[top] = absent, 0
    elif op == IS:
        P.stack[top], P.absent[top] = not absent and a == truth, 0
    elif op == NOT:
        P.stack[top] = 1 - a
    elif op == NEGATE:
        P.stack[top] = -a
    else:
        P.stack[top] = abs(a)


@inline
def _binary(P: Programs, op: int, top: int) -> None:
    """Replace the two top values of the stack by a function of them."""
    a, no_a, b, no_b = P.stack[top], P.absent[top], P.stack[top + 1], P.absent[top + 1]
    if op in (AND, OR):
        deciding = 0.0 if op == AND else 1.0
        if (not no_a and a == deciding) or (not no_b and b == deciding):
            P.stack[top], P.absent[top] = deciding, 0
        else:
            P.stack[top], P.absent[top] = 1 - deciding, no_a or no_b
    elif op == COALESCE:
        if no_a:
            P.stack[top], P.absent[top] = b, no_b
    elif op == NULL_IF:
        P.absent[top] = no_a or (not no_b and _compare(EQ, a, b))
    elif no_a or no_b:
        P.absent[top] = 1
    elif EQ <= op <= GE:
        P.stack[top] = _compare(op, a, b)
    elif op == ADD:
        P.stack[top] = a + b
    elif op == SUB:
        P.stack[top] = a - b
    elif op == MUL:
        P.stack[top] = a * b
    elif b == 0:
        P.absent[top] = 1
    elif op == DIV:
        P.stack[top] = a / b
    else:
        P.stack[top] = math.nan if math.isinf(a) else np.fmod(a, b)


@inline
def _compare(op: int, a: float, b: float) -> bool:
    """Return a comparison in which NaN equals itself and is greater than every number."""
    # compare 1 for NaN with 0 for numbers
    if a != a or b != b:
        a, b = 1.0 if a != a else 0.0, 1.0 if b != b else 0.0
    if op == EQ:
        return a == b
    if op == NE:
        return a != b
    if op == LT:
        return a < b
    if op == LE:
        return a <= b
    return a > b if op == GT else a >= b


@kernel
def rounded_sums(limb: NDArray[np.int64], exponent: int, work: Int64s, out: Doubles) -> None:
    """Write sums as doubles, rounded once, from their limbs: (limbs, sums)."""
    for n in range(len(out)):
        out[n] = rounded(limb, 0, len(limb), n, exponent, work)


@kernel
def running_best(values: NDArray[Any], there: Bytes, begins: Bytes, greatest: bool) -> None:
    """Replace each value by the best so far in its match; `begins` marks where matches begin."""
    for i in range(1, len(values)):
        # rows of different matches are adjacent: each match starts anew
        if begins[i] or not there[i - 1]:
            continue
        # the first of equal values, since 0.0 and -0.0 have different texts
        here, before = values[i], values[i - 1]
        if not there[i] or (before >= here if greatest else before <= here):
            values[i] = values[i - 1]
            there[i] = 1


@kernel
def running_variance(
    numbers: NDArray[np.float64], there: Bytes, begins: Bytes, less: int, counts: Int64s
) -> None:
    """Replace each number by the variance of the numbers so far in its match.

    By Welford's recurrence, as in `cerlab.rows.interpreter`; `counts` becomes n - `less`.
    """
    count, mean, squares = 0, 0.0, 0.0
    for i in range(len(numbers)):
        if begins[i]:
            count, mean, squares = 0, 0.0, 0.0
        if there[i]:
            count += 1
            before = numbers[i] - mean
            mean += before / count
            squares += (numbers[i] - mean) * before
        counts[i] = count - less
        # the variance of a single value is 0, even for NaN
        numbers[i] = squares / counts[i] if count > 1 else 0.0


@kernel
def running_best_row(
    keys: NDArray[Any], there: Bytes, begins: Bytes, greatest: bool, best: Int64s
) -> None:
    """Write the index of the best key so far in each match; -1 if there is none."""
    at = -1
    for i in range(len(keys)):
        if begins[i]:
            at = -1
        if there[i] and (at < 0 or (keys[i] > keys[at] if greatest else keys[i] < keys[at])):
            at = i
        best[i] = at
