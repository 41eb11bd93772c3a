"""`wikimem related`, `relate`, `unrelate`, `pin`, `unpin`: an item's neighbourhood, and what a person adds to it."""

from typing import TYPE_CHECKING, Literal

import click

from wikimem.cli.connection import connect, settings_for
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import note, note_staleness, print_json, print_text, shortened
from wikimem.errors import InvalidInput
from wikimem.pages.relations import is_weight

if TYPE_CHECKING:
    from wikimem.api.protocol import PinAnswer, RelatedItemBody

_PREVIEW_CELLS = 90
_INDENT = " " * 7


@click.command()
@click.argument("address")
@click.option("--direction", type=click.Choice(["out", "in", "both"]), default="out", help="Which way links are taken.")
@click.option("--depth", type=int, default=1, metavar="1-5", help="How many hops away; 1 unless given.")
@click.option("--weight-min", type=float, metavar="W", help="Leave out links that weigh less.")
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="So many items.")
@vault_option
@json_option
def related(
    address: str,
    *,
    direction: Literal["out", "in", "both"],
    depth: int,
    weight_min: float | None,
    limit: int | None,
    vault: str | None,
    as_json: bool,
) -> None:
    """List what the item at ADDRESS is linked with, heaviest path first.

    A path's weight is the sum of its links' weights; the path that made an item rank is shown with it.
    """
    if not 1 <= depth <= 5:
        raise InvalidInput(f"the depth is {depth}", hint="use 1 to 5")
    client = connect(settings_for(vault))
    answer = client.related(address, direction=direction, depth=depth, weight_min=weight_min, limit=limit)
    note_staleness(answer)
    if as_json:
        print_json(answer)
        return
    if not answer["items"]:
        print_text(f"nothing is linked with {answer['anchor']} that way")
    for item in answer["items"]:
        _print_item(item)
    if answer["truncated"]:
        note("the search was cut: a heavier path than those shown may exist")


def _print_item(item: "RelatedItemBody") -> None:
    warmth = "" if item["temperature"] is None else f"  {item['temperature']:.2f}°"
    print_text(f"{item['weight']:<6g} {item['address']}{warmth}")
    if item["hops"] > 1:
        print_text("via " + " → ".join(item["path"][1:-1]), indent=_INDENT)
    print_text(shortened(item["content"], _PREVIEW_CELLS), indent=_INDENT)


@click.command()
@click.argument("source")
@click.argument("target")
@click.option("--weight", type=float, metavar="W", help="How important the edge is; 1.0 unless given.")
@vault_option
@json_option
def relate(source: str, target: str, *, weight: float | None, vault: str | None, as_json: bool) -> None:
    """Add an edge from the item SOURCE to TARGET, an address or a label, without a link in any note.

    It is kept in relations.jsonl. While nothing of TARGET's name exists the edge is pending.
    """
    if weight is not None and not is_weight(weight):
        # JSON has no NaN: asked of the daemon, the answer would speak of how it was sent.
        raise InvalidInput(f"the weight is {weight}", hint="use a finite number above 0")
    answer = connect(settings_for(vault)).relate(source, target, weight)
    if as_json:
        print_json(answer)
        return
    pending = "" if answer["state"] == "resolved" else f" ({answer['state']})"
    print_text(f"{answer['source']} → {answer['target']}, weight {answer['weight']:g}{pending}")


@click.command()
@click.argument("source")
@click.argument("target")
@vault_option
@json_option
def unrelate(source: str, target: str, *, vault: str | None, as_json: bool) -> None:
    """Remove the edge from SOURCE to TARGET that `relate` added; links in notes stay."""
    answer = connect(settings_for(vault)).unrelate(source, target)
    if as_json:
        print_json(answer)
    else:
        print_text(f"removed {answer['source']} → {answer['target']}")


@click.command()
@click.argument("address")
@vault_option
@json_option
def pin(address: str, *, vault: str | None, as_json: bool) -> None:
    """Keep the item at ADDRESS from cooling down."""
    _print_pin(connect(settings_for(vault)).pin(address), as_json=as_json)


@click.command()
@click.argument("address")
@vault_option
@json_option
def unpin(address: str, *, vault: str | None, as_json: bool) -> None:
    """Let the item at ADDRESS cool down again."""
    _print_pin(connect(settings_for(vault)).unpin(address), as_json=as_json)


def _print_pin(answer: "PinAnswer", *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    word = "pinned" if answer["pinned"] else "unpinned"
    warmth = answer["temperature"]
    print_text(f"{word} {answer['address']}" + ("" if warmth is None else f" at {warmth:.2f}°"))
