"""Texts that are in no file any more although nobody decided that: they go into the history, item by item."""

from collections.abc import Collection, Iterable

from wikimem.pages.changes import Cause
from wikimem.pages.items import RecallItem, content_hash
from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.pages.reading import read_page
from wikimem.store.history import Ending, History, PriorText
from wikimem.store.writelog import NotedWrite, WriteLog
from wikimem.text.decoding import decode, is_utf8
from wikimem.text.names import category_of

WHOLE_FILE = "(whole file)"


def prior_texts(
    items: Iterable[RecallItem], ts: str, action: Ending, *, data: bytes | None = None, cause: Cause = "api"
) -> list[PriorText]:
    """Return items as texts for the history.

    When `data`, the file's bytes, is not UTF-8, the last of them carries it: the items' text alone would not bring
    undecodable bytes back.
    """
    texts = [
        PriorText(
            one.address,
            one.name,
            one.content,
            one.hash,
            ts,
            cause,
            action,
            owner=one.owner,
            source_conv=one.source_conv,
            item_ts=one.ts,
            raw=data if data is not None and "\ufffd" in one.content and not is_utf8(data) else None,
        )
        for one in items
    ]
    keeper = max((number for number, text in enumerate(texts) if text.raw is not None), default=None)
    return [text if number == keeper else _without_raw(text) for number, text in enumerate(texts)]


def file_address(path: str) -> str:
    """Return the address under which whole versions of a file are kept."""
    return f"{category_of(path)}:{WHOLE_FILE}"


def file_text(path: str, data: bytes, ts: str) -> PriorText:
    """Return a whole file as a text for the history. Its address is the path, as addresses write names."""
    text = decode(data)
    raw = None if is_utf8(data) else data
    digest = content_hash(WHOLE_FILE, text)
    return PriorText(file_address(path), WHOLE_FILE, text, digest, ts, "disk", "displaced", raw=raw)


def keep_displaced(
    history: History, layout: Layout, path: str, *, data: bytes, now_in_file: bytes | None, ts: str
) -> None:
    """Put into the history what a displaced file holds and the file at `path` does not.

    Items by their addresses, so that `wikimem history ADDRESS` finds them; the whole file too, for what is no item.
    """
    live = _hashes(read_page(path, now_in_file, layout)) if now_in_file is not None else set[tuple[str, str]]()
    lost = [one for one in read_page(path, data, layout).items if (one.name, one.hash) not in live]
    texts = [*prior_texts(lost, ts, "displaced", cause="disk"), file_text(path, data, ts)]
    history.record_many([text for text in texts if not history.holds(text.address, text.hash)])


def keep_unseen(
    log: WriteLog,
    history: History,
    layout: Layout,
    path: str,
    *,
    data: bytes | None,
    ts: str,
    finished: Collection[int] = (),
) -> list[NotedWrite]:
    """Put into the history the texts that we wrote lately and that an editor's save has made disappear.

    An editor that had the file open before our write saves its old buffer over it: then our text is in no file, and
    nobody has put it into the history. `data` is the file now. Returns the writes whose texts were saved so.
    """
    unseen = [write for write in log.unseen(path, finished) if not _stands_in(data or b"", write)]
    open_ = [write for write in unseen if write.text and not history.holds(write.address, write.text.hash)]
    live: set[str] = set()
    if open_ and data is not None:
        live = {one.hash for one in read_page(path, data, layout).items}
    lost = [write for write in open_ if write.text and write.text.hash not in live]
    history.record_many([_lost(write, ts) for write in lost])
    kept = {write.id for write in open_} - {write.id for write in lost}
    log.mark_seen(write.id for write in unseen if write.id not in kept)
    return lost


def _stands_in(data: bytes, write: NotedWrite) -> bool:
    """Say whether a text stands in the file just as it was written, which is seen without parsing the file."""
    text = write.text
    return text is not None and f"## {text.name}\n\n{text.content}\n".encode("utf-8", "replace") in data


def _lost(write: NotedWrite, ts: str) -> PriorText:
    text = write.text
    if text is None:
        raise ValueError("a write without a text cannot be lost")
    return PriorText(
        write.address,
        text.name,
        text.content,
        text.hash,
        ts,
        "disk",
        "displaced",
        owner=text.owner,
        source_conv=text.source_conv,
        item_ts=text.ts,
    )


def _hashes(page: Page) -> set[tuple[str, str]]:
    return {(one.name, one.hash) for one in page.items}


def _without_raw(text: PriorText) -> PriorText:
    if text.raw is None:
        return text
    return PriorText(
        text.address,
        text.name,
        text.content,
        text.hash,
        text.ts,
        text.cause,
        text.action,
        text.item_id,
        text.owner,
        text.source_conv,
        text.item_ts,
    )
