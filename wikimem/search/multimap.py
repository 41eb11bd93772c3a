"""A map from a name to one or more values, where nearly every name has one: that one costs no set of its own."""

from collections.abc import Collection, Hashable
from typing import Generic, TypeVar

V = TypeVar("V", bound=Hashable)


class Multimap(Generic[V]):
    """Values by name. A set for every name would be most of the graph's memory."""

    def __init__(self) -> None:
        self._one: dict[str, V] = {}
        self._many: dict[str, set[V]] = {}

    def add(self, name: str, value: V) -> None:
        """Give a name one more value."""
        many = self._many.get(name)
        if many is not None:
            many.add(value)
        elif name not in self._one:
            self._one[name] = value
        elif self._one[name] != value:
            self._many[name] = {self._one.pop(name), value}

    def discard(self, name: str, value: V) -> None:
        """Take a value of a name away, if it has it."""
        many = self._many.get(name)
        if many is None:
            if self._one.get(name) == value:
                del self._one[name]
            return
        many.discard(value)
        if len(many) == 1:
            self._one[name] = next(iter(many))
            del self._many[name]

    def get(self, name: str) -> Collection[V]:
        """Return the values of a name, in no order."""
        many = self._many.get(name)
        if many is not None:
            return many
        return (self._one[name],) if name in self._one else ()

    def clear(self) -> None:
        """Forget everything."""
        self._one.clear()
        self._many.clear()
