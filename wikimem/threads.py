"""Work in a thread that nobody waits for at the end: it may hang in a dead mount, or in somebody's model."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def in_own_thread(work: Callable[[], T], name: str) -> T:
    """Run blocking work in a daemon thread of its own; neither the loop nor the process's end waits for it."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - it is the caller's
            _tell(loop, future, error=error)
        else:
            _tell(loop, future, result=result)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await future


def _tell(
    loop: asyncio.AbstractEventLoop, future: "asyncio.Future[T]", *, result: Any = None, error: Any = None
) -> None:
    def settle() -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            # StopIteration cannot be raised into a future, and SystemExit would end the loop.
            future.set_exception(
                error
                if isinstance(error, Exception) and not isinstance(error, StopIteration)
                else RuntimeError(f"{type(error).__name__}: {error}")
            )

    # The loop may be closed by the time that a slow call returns.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(settle)
