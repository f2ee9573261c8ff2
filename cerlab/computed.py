"""A property that is computed at its first use and then kept, without a lock.

`functools.cached_property` of Python 3.11 holds one lock for all objects of a class while it
computes. So a short computation would wait for a long one of another thread, and a child that is
forked meanwhile would wait for ever. Here two threads may both compute a value, and one of the
two values is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class cached_property(Generic[T_co]):  # noqa: N801  (as property)
    """A property whose value is computed once, and kept in the object under its name.

    >>> class Circle:
    ...     @cached_property
    ...     def area(self):
    ...         print("computed")
    ...         return 3
    >>> circle = Circle()
    >>> circle.area + circle.area
    computed
    6
    """

    def __init__(self, compute: Callable[[Any], T_co]) -> None:
        self.func = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T_co: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Self | T_co:
        """Return the value; Python asks only while the object does not keep it."""
        if instance is None:
            return self
        value: T_co = self.func(instance)
        # one step: all threads get the value that came first
        kept: T_co = vars(instance).setdefault(self.name, value)
        return kept
