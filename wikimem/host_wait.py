"""Waiting for what may never come: a bounded wait, which leaves behind what does not end."""

import asyncio
from collections.abc import Coroutine
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


def _seen(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled():
        task.exception()
