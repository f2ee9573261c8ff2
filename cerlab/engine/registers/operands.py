"""What the guards of a program compare, by number: slots, values that events bring, constants."""

from __future__ import annotations

from typing import NamedTuple

from cerlab.engine.kernels.registers.arrays import EQ, GE, GT, LE, LT, NE
from cerlab.engine.registers.program import RegisterProgram, Slot
from cerlab.predicates import syntax as pred
from cerlab.predicates.syntax import Atom, Guard

OPERATORS = {
    pred.Operator.EQ: EQ,
    pred.Operator.NE: NE,
    pred.Operator.LT: LT,
    pred.Operator.LE: LE,
    pred.Operator.GT: GT,
    pred.Operator.GE: GE,
}


class Names(NamedTuple):
    """The operands of a program, numbered one after the other."""

    slots: tuple[Slot, ...]
    values: tuple[str, ...]
    constants: tuple[pred.Constant, ...]

    def number(self, side: pred.Operand) -> int:
        """The number of one side of a comparison."""
        match side:
            case pred.RegisterAttribute(register, attribute):
                return self.slots.index(Slot(register, attribute))
            case pred.Attribute(name):
                return len(self.slots) + self.values.index(name)
            case pred.Constant():
                return len(self.slots) + len(self.values) + self.constants.index(side)
            case _:
                raise AssertionError(f"{side} is no operand of a rule")


def event_atoms(program: RegisterProgram) -> tuple[Atom, ...]:
    """The atoms on the event alone, each once."""
    distinct: dict[Atom, None] = {}
    for move in program.moves:
        for atom in pred.atoms(move.guard):
            if not isinstance(atom, pred.RegisterComparison | pred.Everything):
                distinct[atom] = None
    return tuple(distinct)


def computes(guard: Guard) -> bool:
    """Whether a guard computes with what it compares with a register; there is no operand then."""
    comparisons = (atom for atom in pred.atoms(guard) if isinstance(atom, pred.RegisterComparison))
    sides = (side for atom in comparisons for side in (atom.left, atom.right))
    return not all(
        isinstance(side, pred.RegisterAttribute | pred.Attribute | pred.Constant) for side in sides
    )


def names_of(program: RegisterProgram) -> Names:
    """The operands of its comparisons with registers, and what the slots are filled with."""
    values = dict.fromkeys(slot.attribute for slot in program.slots)
    constants: dict[pred.Constant, None] = {}
    for move in program.moves:
        for atom in pred.atoms(move.guard):
            if isinstance(atom, pred.RegisterComparison):
                for side in (atom.left, atom.right):
                    match side:
                        case pred.Attribute(name):
                            values[name] = None
                        case pred.Constant():
                            constants[side] = None
    return Names(program.slots, tuple(values), tuple(constants))
