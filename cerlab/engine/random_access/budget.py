"""How much memory numbers of answers may take, known before they are made."""

from __future__ import annotations

import math
import sys

from cerlab.errors import ResourceLimit

BUDGET = 5 * 10**8
"""Bytes that the numbers of answers up to ends may take, and those below nodes as much again."""

_DIGIT = sys.int_info.bits_per_digit


def bytes_of(bits: int) -> int:
    """The size of a positive Python integer of so many bits."""
    return int.__basicsize__ + sys.int_info.sizeof_digit * -(-bits // _DIGIT)


def fits(size: int) -> bool:
    """Whether numbers of so many bytes may be made."""
    return size <= BUDGET


def check_budget(size: int, what: str) -> None:
    """Raise `ResourceLimit` if `what` needs more bytes than there may be."""
    if not fits(size):
        raise ResourceLimit(
            "CER0613",
            f"{what} need {size:,} bytes, more than {BUDGET:,}",
            hint="count() needs no such memory; WITHIN and LIMIT make the numbers shorter",
        )


def shown_number(n: int) -> str:
    """A number as text; a long one by its length, as Python would refuse to write it.

    >>> shown_number(1_000), shown_number(10**5_000)
    ('1,000', 'a number of 5,001 digits')
    """
    if n.bit_length() <= 64:
        return f"{n:,}"
    digits = int(n.bit_length() * math.log10(2))
    return f"a number of {digits + (n >= 10**digits):,} digits"
