"""How an answer of `retrieve` is shown: for a person, for a prompt, and with its scoring drawn."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from wikimem.api.protocol import RetrieveAnswer, RetrievedItemBody
from wikimem.cli.output import coloured, print_table, print_text, safe

_INDENT = "   "


def print_answer(answer: RetrieveAnswer, *, form: str = "text", explain: bool = False) -> None:
    """Print an answer: `form` is `text`, or `prompt` for the lines that go into a model's prompt."""
    if form == "prompt":
        text = prompt_text(answer["items"], answer["budget_tokens"]) if answer["items"] else ""
        if text:
            click.echo(text)
        return
    if not answer["items"]:
        click.echo("nothing found")
    for number, item in enumerate(answer["items"], start=1):
        _print_item(number, item)
        if explain:
            print_table(_term_rows(item), indent=_INDENT)
            click.echo()
    _print_frame(answer)
    if explain:
        print_dropped(answer)


def prompt_text(items: Iterable[Mapping[str, Any]], budget_tokens: int | None) -> str:
    """Return the text that a host puts before its model: each item below the address it can be linked with."""
    from wikimem.host_prompt import fitted, injection_text  # noqa: PLC0415 - only for a prompt

    shown = [(item["address"], item["content"]) for item in items]
    return safe(injection_text(shown if budget_tokens is None else fitted(shown, budget_tokens)))


def print_scoring(answer: RetrieveAnswer) -> None:
    """Print why each item is in its place: the signals in a table, then what each term gave to each item."""
    signals = list(dict.fromkeys(name for item in answer["items"] for name in item.get("signals", {})))
    rows = [["", "address", "score", *signals, "matched"]]
    for number, item in enumerate(answer["items"], start=1):
        given = item.get("signals", {})
        numbers = [_figure(given.get(name)) for name in signals]
        rows.append([_place(number, item), item["address"], _figure(item["score"]), *numbers, _matched(item)])
    if answer["items"]:
        print_table(rows)
    else:
        click.echo("nothing found")
    for item in answer["items"]:
        terms = _term_rows(item)
        if terms:
            click.echo()
            print_text(item["address"])
            print_table([("term", "kind", "weight", "df", "score"), *terms], indent=_INDENT)
    if answer["items"]:
        click.echo()
    _print_frame(answer)
    print_dropped(answer)


def print_dropped(answer: RetrieveAnswer) -> None:
    """Print what is not in the answer, and why."""
    if not answer["dropped"]:
        return
    click.echo("not in the answer:")
    rows = [
        (one["address"], one["reason"], _figure(one["score"]), f"{one['tokens_est']} tokens")
        for one in answer["dropped"]
    ]
    print_table(rows, indent=_INDENT)


def marked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return text for a terminal with spans in bold; what is no terminal gets the text alone (click strips it)."""
    pieces: list[str] = []
    end = 0
    for start, stop in spans:
        pieces += [text[end:start], click.style(text[start:stop], bold=True)]
        end = stop
    return "".join([*pieces, text[end:]])


def _matches_marked(text: str, matched: Sequence[str]) -> str:
    if not coloured():
        return text
    # 40 ms, most of them for the tables of scripts: a script that reads the answer does not wait for its bold letters.
    from wikimem.cli.marking import matched_spans  # noqa: PLC0415

    return marked(text, matched_spans(text, matched))


def _print_item(number: int, item: RetrievedItemBody) -> None:
    matched = item["matched_terms"]
    name = safe(item["name"]).replace("\n", " ")
    head = f"{_place(number, item)} {_matches_marked(name, matched)}  {safe(item['address'])}"
    via = f"  via {safe(item['via'])}" if item["via"] is not None else ""
    found = f"  matched {safe(_matched(item))}" if matched else ""
    click.echo(f"{head}  {_figure(item['score'])}{via}{found}".replace("\n", " "))
    content = safe(item["content"])
    for line in _matches_marked(content, matched).split("\n"):
        click.echo(f"{_INDENT}{line}".rstrip())
    click.echo()


def _print_frame(answer: RetrieveAnswer) -> None:
    """Print what holds for the whole answer: its window, what it used of the budget, links that lead nowhere."""
    window = answer["time_range"]
    if window is not None:
        days = window[0] if window[0] == window[1] else f"{window[0]} to {window[1]}"
        origin = "as asked" if answer["time_range_source"] == "explicit" else "read from the question"
        wider = ", a day wider on each side because it held nothing" if answer["time_range_widened"] else ""
        click.echo(f"diary of {days} ({origin}{wider})")
    if answer["budget_tokens"] is not None:
        click.echo(f"{answer['budget_used']} of {answer['budget_tokens']} tokens")
    if answer["unresolved_links"]:
        print_text(f"links that lead nowhere: {', '.join(answer['unresolved_links'])}")


def _place(number: int, item: RetrievedItemBody) -> str:
    return f"{number}." if item["source"] == "hit" else f"{number}. ↳"


def _matched(item: RetrievedItemBody) -> str:
    return ", ".join(item["matched_terms"])


def _term_rows(item: RetrievedItemBody) -> list[tuple[str, ...]]:
    return [
        (term["term"], term["kind"], f"{term['weight']:g}", str(term["df"]), _figure(term["score"]))
        for term in sorted(item.get("terms", []), key=lambda term: -term["score"])
    ]


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
