"""The verbs as methods of a client: each `requests` function, typed for the transport that performs it.

Python's type system cannot say "the same, but awaitable" over a whole class. A descriptor a method can: it keeps the
function's parameters and wraps its answer, so `client.retrieve("sea", limit=3)` is checked like the function itself.
"""

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from wikimem.api.protocol import Event
from wikimem.api.requests import Prepared

P = ParamSpec("P")
Answer = TypeVar("Answer")


class Performer(Protocol):
    """A client that performs a call before it returns."""

    def perform(self, prepared: Prepared[Answer]) -> Answer:
        """Perform one call."""

    def follow(self, prepared: Prepared[Event]) -> Iterator[Event]:
        """Follow an event stream."""


class AsyncPerformer(Protocol):
    """A client whose calls are awaited."""

    async def perform(self, prepared: Prepared[Answer]) -> Answer:
        """Perform one call."""

    def follow(self, prepared: Prepared[Event]) -> AsyncIterator[Event]:
        """Follow an event stream."""


class Verb(Generic[P, Answer]):
    """A method that performs the call which `prepare` builds."""

    def __init__(self, prepare: Callable[P, Prepared[Answer]]) -> None:
        self._prepare = prepare
        self.__doc__ = prepare.__doc__

    @overload
    def __get__(self, client: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, client: Performer, owner: type[Any] | None = None) -> Callable[P, Answer]: ...
    def __get__(self, client: Performer | None, owner: type[Any] | None = None) -> Self | Callable[P, Answer]:
        if client is None:
            return self

        @functools.wraps(self._prepare)
        def method(*args: P.args, **kwargs: P.kwargs) -> Answer:
            return client.perform(self._prepare(*args, **kwargs))

        return method


class AsyncVerb(Generic[P, Answer]):
    """The same, awaited."""

    def __init__(self, prepare: Callable[P, Prepared[Answer]]) -> None:
        self._prepare = prepare
        self.__doc__ = prepare.__doc__

    @overload
    def __get__(self, client: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(
        self, client: AsyncPerformer, owner: type[Any] | None = None
    ) -> Callable[P, Coroutine[Any, Any, Answer]]: ...
    def __get__(
        self, client: AsyncPerformer | None, owner: type[Any] | None = None
    ) -> Self | Callable[P, Coroutine[Any, Any, Answer]]:
        if client is None:
            return self

        @functools.wraps(self._prepare)
        async def method(*args: P.args, **kwargs: P.kwargs) -> Answer:
            return await client.perform(self._prepare(*args, **kwargs))

        return method


class Stream(Generic[P]):
    """A method that iterates over events."""

    def __init__(self, prepare: Callable[P, Prepared[Event]]) -> None:
        self._prepare = prepare
        self.__doc__ = prepare.__doc__

    @overload
    def __get__(self, client: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, client: Performer, owner: type[Any] | None = None) -> Callable[P, Iterator[Event]]: ...
    def __get__(self, client: Performer | None, owner: type[Any] | None = None) -> Self | Callable[P, Iterator[Event]]:
        if client is None:
            return self

        @functools.wraps(self._prepare)
        def method(*args: P.args, **kwargs: P.kwargs) -> Iterator[Event]:
            return client.follow(self._prepare(*args, **kwargs))

        return method


class AsyncStream(Generic[P]):
    """The same, iterated with `async for`."""

    def __init__(self, prepare: Callable[P, Prepared[Event]]) -> None:
        self._prepare = prepare
        self.__doc__ = prepare.__doc__

    @overload
    def __get__(self, client: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, client: AsyncPerformer, owner: type[Any] | None = None) -> Callable[P, AsyncIterator[Event]]: ...
    def __get__(
        self, client: AsyncPerformer | None, owner: type[Any] | None = None
    ) -> Self | Callable[P, AsyncIterator[Event]]:
        if client is None:
            return self

        @functools.wraps(self._prepare)
        def method(*args: P.args, **kwargs: P.kwargs) -> AsyncIterator[Event]:
            return client.follow(self._prepare(*args, **kwargs))

        return method
