"""A property that is computed at its first use and then kept, without a lock.

`functools.cached_property` of Python 3.11 holds one lock for all objects of a class while it
computes. A short computation would wait for a long one in another thread, and a process forked
meanwhile would wait forever. Here, two threads may both compute a value, and the first value is
kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class cached_property(Generic[T_co]):  # noqa: N801 (lower case, like the built-in `property`)
    """A property whose value is computed once and kept in the object under the property's name.

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
        """Compute and keep the value; Python calls this only if the value is not kept yet."""
        if instance is None:
            return self
        value: T_co = self.func(instance)
        # setdefault is atomic: all threads get the value that was stored first
        kept: T_co = vars(instance).setdefault(self.name, value)
        return kept
