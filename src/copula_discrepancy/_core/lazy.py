"""Attributes that are computed on first use, from any thread."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property as lazy
else:

    class lazy:
        """`functools.cached_property` without its lock.

        Until Python 3.11 that lock is shared by all instances of a class and held while the value is computed: threads that
        process different pairs of variables would wait for each other. Without it two threads may compute a value twice, which
        is harmless for pure functions.
        """

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self.function = function
            self.__doc__ = function.__doc__
            self.__module__ = function.__module__  # doctest collects examples from objects of the module

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = self.function(instance)
            instance.__dict__[self.name] = value
            return value


__all__ = ["lazy"]
