"""`wikimem retrieve`: what the vault knows about a question."""

from datetime import date

import click

from wikimem.cli.connection import connect, settings_for
from wikimem.cli.options import filter_options, json_option, vault_option
from wikimem.cli.output import note_staleness, print_json
from wikimem.errors import UsageError


@click.command()
@click.argument("query", nargs=-1)
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="So many hits, before links are followed.")
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    metavar="TOKENS",
    help="Cut the answer at so many tokens; its first entry is kept whatever its size.",
)
@click.option("--no-links", is_flag=True, help="Leave out what the hits link to.")
@click.option("--explain", is_flag=True, help="Say what each signal gave, and what was cut.")
@click.option("--from", "start", metavar="DAY", help="Let the diary in, from this day (YYYY-MM-DD) on.")
@click.option("--to", "end", metavar="DAY", help="Up to this day; else up to today.")
@click.option("--tz", metavar="ZONE", help="The time zone in which days are meant, as Asia/Shanghai.")
@filter_options
@click.option("--since", metavar="ISO-8601", help="Only items that were learned at or after this instant.")
@click.option("--until", metavar="ISO-8601", help="Only items that were learned at or before this instant.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "prompt"]),
    default="text",
    help="For a person (the default), or as it goes into a model's prompt.",
)
@vault_option
@json_option
def retrieve(
    query: tuple[str, ...],
    *,
    limit: int | None,
    budget: int | None,
    no_links: bool,
    explain: bool,
    start: str | None,
    end: str | None,
    tz: str | None,
    category: str | None,
    owner: str | None,
    tag: str | None,
    since: str | None,
    until: str | None,
    form: str,
    vault: str | None,
    as_json: bool,
) -> None:
    """Find what the vault knows about QUERY: ranked items, each followed by what it links to.

    Every edit that was saved before the call is in the answer. Diary entries come only with a time: one in the query
    ("yesterday", "上周三"), or --from and --to. With a time the query may be empty.
    """
    if end is not None and start is None:
        raise UsageError("--to needs --from", hint="as `--from 2026-07-01 --to 2026-07-31`")
    window = (start, end or date.today().isoformat()) if start is not None else None  # noqa: DTZ011 - the local day
    words = " ".join(query)
    if not words.strip() and window is None:
        raise UsageError("there is no question", hint="as `wikimem retrieve 'plans for the summer'`")
    answer = connect(settings_for(vault)).retrieve(
        words,
        limit,
        budget,
        expand_links=False if no_links else None,
        explain=explain or None,
        time_range=window,
        tz=tz,
        category=category,
        owner=owner,
        tag=tag,
        since=since,
        until=until,
    )
    note_staleness(answer)
    if as_json:
        print_json(answer)
        return
    from wikimem.cli.search_output import print_answer  # noqa: PLC0415 - JSON needs no drawing

    print_answer(answer, form=form, explain=explain)
