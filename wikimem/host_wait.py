"""Waiting for what may never come: a bounded wait, and a thread that nothing has to wait for."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` gives; raise TimeoutError when that takes longer.

    Unlike `asyncio.wait_for` this does not wait for the cancelled work to end: one that ignores its cancellation would
    hold the caller for ever.
    """
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait([task], timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if done:
        return task.result()
    task.cancel()
    # Somebody must look at its outcome, or the loop complains of an exception that was never retrieved.
    task.add_done_callback(_seen)
    raise TimeoutError(f"not within {seconds:g} s")


async def in_own_thread(work: Callable[[], T]) -> T:
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

    threading.Thread(target=run, name="wikimem-host", daemon=True).start()
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


def _seen(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled():
        task.exception()
