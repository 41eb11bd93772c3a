"""How far `wikimem embed` is, as a bar while it works and in words at its end."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import click

from wikimem.cli.output import print_text

_BAR = 24
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class View:
    """One look at the work. `failed` names texts that the endpoint does not take, with the reason."""

    state: str
    count: int
    pending: int
    sent: int
    tokens: int
    rate: float
    eta_s: float | None
    model: str
    detail: str
    hint: str
    reset_cost: int
    failed: tuple[str, ...] = ()
    retry_in_s: float | None = None
    rate_limited: bool = False


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[View], None]]:
    """Give what draws the bar: on a terminal only, and gone when it is over."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return

    def draw(view: View) -> None:
        click.echo(f"\r\x1b[K{bar_line(view)}", err=True, nl=False)

    try:
        yield draw
    finally:
        click.echo("\r\x1b[K", err=True, nl=False)


def bar_line(view: View) -> str:
    """Return one line that says how far it is, how fast, what it cost so far and how long it will take."""
    total = view.count + view.pending
    filled = _BAR * view.count // total if total else _BAR
    parts = [f"[{'#' * filled}{'.' * (_BAR - filled)}] {view.count:,}/{total:,}"]
    if view.rate:
        parts.append(f"{view.rate:.3g}/s")
    if view.eta_s is not None:
        parts.append(f"{_duration(view.eta_s)} left")
    parts.append(f"{view.sent:,} sent")
    if view.tokens:
        parts.append(f"{view.tokens:,} tokens")
    if view.state == "failing":
        left = f", {_duration(view.retry_in_s)}" if view.retry_in_s else ""
        parts.append(f"waiting for the endpoint{left}")
    return "  ".join(parts)


def _duration(seconds: float) -> str:
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {left:02} s" if minutes else f"{left} s"


def tell(view: View) -> None:
    """Print how it ended: what there is, what it cost, and the first texts that the endpoint did not take."""
    cost = f"; {view.sent:,} sent" + (f", {view.tokens:,} tokens" if view.tokens else "") if view.sent else ""
    print_text(f"{view.count:,} items have vectors of {view.model}{cost}")
    for line in view.failed[:_SHOWN]:
        print_text(f"not taken by the endpoint: {line}")
    if len(view.failed) > _SHOWN:
        print_text(f"... and {len(view.failed) - _SHOWN} more")
