"""The verbs as methods: one table, which every client is given.

`Client`, `AsyncClient` and `LocalClient` derive from `Verbs` for this table alone. Each verb is the `requests` function
of its name, typed and documented like it, and performed by the client that it is called on: at once, or awaited where
`perform` is a coroutine. Python's type system cannot say "the same, but awaitable" of a class; of a descriptor it can.
"""

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from types import MethodType
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, get_args, overload

from wikimem.api import requests
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

    def perform(self, prepared: Prepared[Answer]) -> Coroutine[Any, Any, Answer]:
        """Perform one call."""

    def follow(self, prepared: Prepared[Event]) -> AsyncIterator[Event]:
        """Follow an event stream."""


class Verb(Generic[P, Answer]):
    """A method that performs the call which `prepare` builds."""

    def __init__(self, prepare: Callable[P, Prepared[Answer]]) -> None:
        def method(client: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
            return client.perform(prepare(*args, **kwargs))

        # Told apart by who asks whether a method is to be awaited: frameworks that make tools of methods do.
        async def awaited(client: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
            return await client.perform(prepare(*args, **kwargs))

        self._method, self._awaited = _like(method, prepare), _like(awaited, prepare)

    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[..., Any]: ...
    @overload
    def __get__(self, client: Performer, owner: type[Any] | None = None) -> Callable[P, Answer]: ...
    @overload
    def __get__(
        self, client: AsyncPerformer, owner: type[Any] | None = None
    ) -> Callable[P, Coroutine[Any, Any, Answer]]: ...
    def __get__(self, client: object, owner: type[Any] | None = None) -> Any:
        awaits = inspect.iscoroutinefunction(getattr(owner or type(client), "perform", None))
        method = self._awaited if awaits else self._method
        return method if client is None else MethodType(method, client)


class Stream(Generic[P]):
    """A method that iterates over events, with `for` or with `async for`."""

    def __init__(self, prepare: Callable[P, Prepared[Event]]) -> None:
        def method(client: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
            return client.follow(prepare(*args, **kwargs))

        self._method = _like(method, prepare, Iterator[Event] | AsyncIterator[Event])

    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[..., Any]: ...
    @overload
    def __get__(self, client: Performer, owner: type[Any] | None = None) -> Callable[P, Iterator[Event]]: ...
    @overload
    def __get__(self, client: AsyncPerformer, owner: type[Any] | None = None) -> Callable[P, AsyncIterator[Event]]: ...
    def __get__(self, client: object, owner: type[Any] | None = None) -> Any:
        return self._method if client is None else MethodType(self._method, client)


def _like(method: Callable[..., Any], prepare: Callable[..., Any], answer: Any = None) -> Callable[..., Any]:
    """Return the method with the function's name, documentation and parameters, and with the type of its answer."""
    functools.update_wrapper(method, prepare)
    signature = inspect.signature(prepare)
    answer = answer or get_args(signature.return_annotation)[0]
    client = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    method.__annotations__ = {**prepare.__annotations__, "return": answer}
    shown = signature.replace(parameters=[client, *signature.parameters.values()], return_annotation=answer)
    setattr(method, "__signature__", shown)  # noqa: B010 - functions have no such attribute for the type checker
    return method


class Verbs:
    """The calls of a vault's daemon."""

    retrieve = Verb(requests.retrieve)
    item = Verb(requests.item)
    put_item = Verb(requests.put_item)
    remove_item = Verb(requests.remove_item)
    items = Verb(requests.items)
    categories = Verb(requests.categories)
    diary_append = Verb(requests.diary_append)
    diary = Verb(requests.diary)
    related = Verb(requests.related)
    relate = Verb(requests.relate)
    unrelate = Verb(requests.unrelate)
    links = Verb(requests.links)
    graph = Verb(requests.graph)
    changes = Verb(requests.changes)
    history = Verb(requests.history)
    restore = Verb(requests.restore)
    journal = Verb(requests.journal)
    status = Verb(requests.status)
    health = Verb(requests.health)
    rebuild = Verb(requests.rebuild)
    reload = Verb(requests.reload)
    embed = Verb(requests.embed)
    pin = Verb(requests.pin)
    unpin = Verb(requests.unpin)
    events = Stream(requests.events)
