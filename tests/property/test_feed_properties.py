"""Coalescing never changes what a reader ends up knowing."""

from hypothesis import given
from hypothesis import strategies as st

from wikimem.pages.changes import Action, Change
from wikimem.store.changes import FeedRow
from wikimem_daemon.feed import coalesce

World = dict[str, tuple[str, str]]

STEPS = st.lists(
    st.tuples(st.sampled_from("123"), st.sampled_from(["add", "update", "remove", "rename"]), st.integers(0, 2)),
    max_size=25,
)


def apply(world: World, change: Change) -> World:
    """A reader that keeps (address, hash) by id."""
    after = dict(world)
    if change.action == "remove":
        assert after.pop(change.id)[0] == change.address
        return after
    if change.action == "add":
        assert change.id not in world
    else:
        before = change.old_address if change.action == "rename" else change.address
        assert world[change.id][0] == before
    after[change.id] = (change.address, change.hash or "")
    return after


def rows_of(steps: list[tuple[str, str, int]], world: World) -> tuple[list[FeedRow], World]:
    rows: list[FeedRow] = []
    for number, (item, wanted, name) in enumerate(steps):
        known = world.get(item)
        action: Action
        address, old = f"c:{name}", None
        if known is None:
            action = "add"
        elif wanted == "remove":
            action, address = "remove", known[0]
        elif wanted == "rename" and address != known[0]:
            action, old = "rename", known[0]
        else:
            action, address = "update", known[0]
        digest = None if action == "remove" else f"h{number}"
        change = Change(item, action, address, old, digest, "t", "disk")
        world = apply(world, change)
        rows.append(FeedRow(number, change))
    return rows, world


@given(before=STEPS, after=STEPS)
def test_a_reader_of_coalesced_changes_knows_what_a_reader_of_all_knows(
    before: list[tuple[str, str, int]], after: list[tuple[str, str, int]]
) -> None:
    _, start = rows_of(before, {})
    rows, end = rows_of(after, start)
    world = start
    folded = coalesce(rows)
    for change in folded:
        world = apply(world, change)
    assert world == end
    assert len({change.id for change in folded}) == len(folded)


@given(steps=STEPS, cut=st.integers(0, 25))
def test_pages_may_be_cut_anywhere(steps: list[tuple[str, str, int]], cut: int) -> None:
    rows, end = rows_of(steps, {})
    world: World = {}
    for part in (rows[:cut], rows[cut:]):
        for change in coalesce(part):
            world = apply(world, change)
    assert world == end
