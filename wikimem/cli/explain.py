"""`wikimem explain`: why an answer looks the way it does."""

import click

from wikimem.cli.connection import connect, settings_for
from wikimem.cli.options import filter_options, json_option, vault_option
from wikimem.cli.output import note_staleness, print_json
from wikimem.cli.search_output import print_scoring
from wikimem.errors import UsageError


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="So many hits, before links are followed.")
@click.option("--budget", type=click.IntRange(min=0), metavar="TOKENS", help="Cut the answer at so many tokens.")
@filter_options
@click.option("--tz", metavar="ZONE", help="The time zone in which days are meant, as Asia/Shanghai.")
@vault_option
@json_option
def explain(
    query: tuple[str, ...],
    *,
    limit: int | None,
    budget: int | None,
    category: str | None,
    owner: str | None,
    tag: str | None,
    tz: str | None,
    vault: str | None,
    as_json: bool,
) -> None:
    """Show why QUERY finds what it finds: the score of each signal, what each word gave, what was left out and why.

    A word is found by its stem (`word`), without accents (`folded`), by its first four letters (`prefix`, half
    weight), as part of an identifier (`part`, half weight) or glued as written (`whole`). Chinese and Japanese are
    found by single characters and pairs, Thai, Lao, Khmer and Burmese by threes.
    """
    words = " ".join(query)
    if not words.strip():
        raise UsageError("there is no question", hint="as `wikimem explain 'plans for the summer'`")
    answer = connect(settings_for(vault)).retrieve(
        words, limit, budget, explain=True, category=category, owner=owner, tag=tag, tz=tz
    )
    note_staleness(answer)
    if as_json:
        print_json(answer)
    else:
        print_scoring(answer)
