"""`wikimem links`: links that lead nowhere or to several places, and rewriting them."""

from typing import TYPE_CHECKING, Literal

import click

from wikimem.api.protocol import MAX_PAGE_LIMIT, LinkBody, LinkStateName
from wikimem.cli.connection import connect, settings_for
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import note, note_staleness, print_json, print_table, print_text
from wikimem.cli.paging import each_page
from wikimem.config import Settings
from wikimem.errors import UsageError

if TYPE_CHECKING:
    from wikimem.cli.connection import MemoryClient
    from wikimem.search.repairs import Renamed

_STATES: dict[str, tuple[LinkStateName | None, ...]] = {
    "broken": ("unresolved", "ambiguous"),
    "unresolved": ("unresolved",),
    "ambiguous": ("ambiguous",),
    "resolved": ("resolved",),
    "all": (None,),
}


class ShownLink(LinkBody):
    """A link as `--json` prints it, with the addresses that its target and its source have now, where that is known."""

    renamed: str | None
    renamed_source: str | None


@click.command()
@click.option("--state", type=click.Choice(list(_STATES)), default="broken", help="Which links; broken unless given.")
@click.option("--repair", is_flag=True, help="Point links at items that were renamed; shows the edits.")
@click.option("--to", "style", type=click.Choice(["obsidian", "native"]), help="Write item links in this style.")
@click.option("--yes", is_flag=True, help="Make the edits that --repair or --to shows.")
@vault_option
@json_option
def links(
    *,
    state: str,
    repair: bool,
    style: Literal["obsidian", "native"] | None,
    yes: bool,
    vault: str | None,
    as_json: bool,
) -> None:
    """List the links that lead nowhere or to several places, with file and line.

    `--repair` rewrites those whose target was renamed. `--to obsidian` writes [[category:name]] as [[category#name]],
    which a person can click, `--to native` the other way. They print a diff and change nothing without --yes.
    """
    if repair and style is not None:
        raise UsageError("--repair and --to do not go together", hint="run one, then the other")
    if yes and not repair and style is None:
        raise UsageError("--yes belongs to --repair or --to", hint="as `wikimem links --repair --yes`")
    settings = settings_for(vault)
    if repair or style is not None:
        from wikimem.cli.link_rewrites import rewrite  # noqa: PLC0415 - a listing need not load the store

        rewrite(settings, style, yes=yes, as_json=as_json)
    else:
        _list(settings, state, as_json=as_json)


def _list(settings: Settings, state: str, *, as_json: bool) -> None:
    client = connect(settings)
    found = [link for one in _STATES[state] for link in _all_links(client, one)]
    found.sort(key=lambda link: (link["file"], link["line"]))
    renamed = _renamed(settings) if any(link["state"] == "unresolved" for link in found) else {}
    shown = [_shown(link, renamed.get((link["file"], link["line"], link["target"]))) for link in found]
    if as_json:
        print_json({"links": shown})
        return
    print_table([_row(link) for link in shown])
    if not shown:
        print_text("every link leads somewhere" if state == "broken" else f"no {state} links")
    if any(link["renamed"] or link["renamed_source"] for link in shown):
        note("some targets were renamed: `wikimem links --repair` shows the edits")


def _shown(link: LinkBody, renamed: "Renamed | None") -> ShownLink:
    target, source = (None, None) if renamed is None else (renamed.target, renamed.source)
    return {**link, "renamed": target, "renamed_source": source}


def _renamed(settings: Settings) -> "dict[tuple[str, int, str], Renamed]":
    from wikimem.cli.link_rewrites import renamed_ends  # noqa: PLC0415 - only broken links ask for it

    return renamed_ends(settings)


def _all_links(client: "MemoryClient", state: LinkStateName | None) -> list[LinkBody]:
    pages = list(each_page(lambda after: client.links(state, limit=MAX_PAGE_LIMIT, after=after)))
    note_staleness(pages[-1])
    return [link for page in pages for link in page["links"]]


def _row(link: ShownLink) -> list[str]:
    what: str = link["state"]
    if link["renamed"]:
        what = f"renamed to {link['renamed']}"
    elif link["renamed_source"]:
        what = f"{link['source']} was renamed to {link['renamed_source']}"
    elif link["candidates"]:
        what = f"{what}: " + " or ".join(link["candidates"])
    # A relation may be pending for its source: the target alone would not say what is missing.
    ends = f"{link['source']} → {link['target']}" if link["origin"] == "manual" else link["target"]
    return [f"{link['file']}:{link['line']}", ends, what]
