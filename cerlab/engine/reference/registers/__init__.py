"""Running transducers on a stream: Algorithm 1 as corrected, and its runs shared (SRT Alg. 1)."""

from cerlab.engine.reference.registers.shared import answers

__all__ = ["answers"]
