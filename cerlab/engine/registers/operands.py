"""What the guards of a program compare, by number: slots, values that events bring, constants."""

from __future__ import annotations

from typing import NamedTuple

from cerlab.engine.kernels.registers.arrays import EQ, GE, GT, LE, LT, NE
from cerlab.engine.registers.program import RegisterProgram, Slot
from cerlab.predicates.syntax import (
    Atom,
    Attribute,
    Constant,
    Everything,
    Guard,
    Operand,
    Operator,
    RegisterAttribute,
    RegisterComparison,
    atoms,
)

OPERATORS = {
    Operator.EQ: EQ,
    Operator.NE: NE,
    Operator.LT: LT,
    Operator.LE: LE,
    Operator.GT: GT,
    Operator.GE: GE,
}


class Names(NamedTuple):
    """The operands of a program, numbered one after the other."""

    slots: tuple[Slot, ...]
    values: tuple[str, ...]
    constants: tuple[Constant, ...]

    def number(self, side: Operand) -> int:
        """The number of one side of a comparison."""
        match side:
            case RegisterAttribute(register, attribute):
                return self.slots.index(Slot(register, attribute))
            case Attribute(name):
                return len(self.slots) + self.values.index(name)
            case Constant():
                return len(self.slots) + len(self.values) + self.constants.index(side)
            case _:
                raise AssertionError(f"{side} is no operand of a rule")


def event_atoms(program: RegisterProgram) -> tuple[Atom, ...]:
    """The atoms on the event alone, each once."""
    distinct: dict[Atom, None] = {}
    for move in program.moves:
        for atom in atoms(move.guard):
            if not isinstance(atom, RegisterComparison | Everything):
                distinct[atom] = None
    return tuple(distinct)


def computes(guard: Guard) -> bool:
    """Whether a guard computes with what it compares with a register; there is no operand then."""
    comparisons = (atom for atom in atoms(guard) if isinstance(atom, RegisterComparison))
    sides = (side for atom in comparisons for side in (atom.left, atom.right))
    return not all(isinstance(side, RegisterAttribute | Attribute | Constant) for side in sides)


def names_of(program: RegisterProgram) -> Names:
    """The operands of its comparisons with registers, and what the slots are filled with."""
    values = dict.fromkeys(slot.attribute for slot in program.slots)
    constants: dict[Constant, None] = {}
    for move in program.moves:
        for atom in atoms(move.guard):
            if isinstance(atom, RegisterComparison):
                for side in (atom.left, atom.right):
                    match side:
                        case Attribute(name):
                            values[name] = None
                        case Constant():
                            constants[side] = None
    return Names(program.slots, tuple(values), tuple(constants))
