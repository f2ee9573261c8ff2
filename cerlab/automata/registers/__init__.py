"""Symbolic register transducers: automata over events that store events (SRT Sec. 4).

`transducer` has the values, `runs` what they mean; then one construction a module. Each states what
a macro-state of it means, and where the paper prints another one.
"""

from cerlab.automata.registers.transducer import EpsilonSrt, RegisterTransition, Srt, Transducer

__all__ = ["EpsilonSrt", "RegisterTransition", "Srt", "Transducer"]
