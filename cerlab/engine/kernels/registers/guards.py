"""When an event and the slots of a configuration satisfy a rule (SRT Def. 13)."""

from __future__ import annotations

from cerlab.engine.kernels.arrays import NONE, Int64s
from cerlab.engine.kernels.compiled import inline
from cerlab.engine.kernels.registers.arrays import EQ, GE, GT, KIND, LE, LT, Events, Rules


@inline
def compare(operator: int, left: int, right: int) -> bool:
    """``left op right`` of two codes; false where the two do not compare."""
    if left < 0 or right < 0 or (left >> KIND) != (right >> KIND):
        return False
    if operator == EQ:
        return left == right
    if operator == LT:
        return left < right
    if operator == LE:
        return left <= right
    if operator == GT:
        return left > right
    if operator == GE:
        return left >= right
    return left != right


@inline
def operand(contents: Int64s, events: Events, c: int, e: int, number: int) -> int:
    """The code of an operand: of ``contents[c]``, a value of event e, or a constant; else -1."""
    if number == NONE:
        return NONE
    slots, values = contents.shape[1], events.values.shape[1]
    if number < slots:
        return contents[c, number]
    if number < slots + values:
        return events.values[e, number - slots]
    return events.constants[number - slots - values]


@inline
def guard_holds(rules: Rules, contents: Int64s, events: Events, c: int, e: int, rule: int) -> bool:
    """Whether ``(t, v) |= guard``: whether all literals of some clause hold (SRT Def. 13)."""
    for clause in range(rules.clauses[rule], rules.clauses[rule + 1]):
        holds = True
        for n in range(rules.literals[clause], rules.literals[clause + 1]):
            left = operand(contents, events, c, e, rules.left[n])
            right = operand(contents, events, c, e, rules.right[n])
            if compare(rules.operator[n], left, right) == (rules.is_negated[n] == 1):
                holds = False
                break
        if holds:
            return True
    return False
