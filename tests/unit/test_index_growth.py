"""An index that is edited for years: what is gone leaves nothing behind. Counted, not timed."""

import types

import numpy as np

from tests.searching import index_of, page
from wikimem.search.corpus import MergePolicy
from wikimem.search.index import MemoryIndex

NO_CONTAINERS = (type, str, bytes, int, float, types.FunctionType, types.MethodType, types.ModuleType)
FILES, ITEMS = 4, 15


def held(index: MemoryIndex) -> int:
    """Return how many values all lists, dictionaries, sets and arrays below an index hold together."""
    seen: dict[int, object] = {}
    total = 0
    todo: list[object] = [index]
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, NO_CONTAINERS):
            continue
        seen[id(one)] = one
        if isinstance(one, np.ndarray):
            total += one.size
        elif isinstance(one, dict):
            total += len(one)
            todo += [*one, *one.values()]
        elif isinstance(one, (list, tuple, set, frozenset)):
            total += len(one)
            todo += one
        else:
            todo += getattr(one, "__dict__", {}).values()
            slots = [name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ())]
            todo += [getattr(one, name) for name in slots if hasattr(one, name)]
    return total


def live_through(index: MemoryIndex, age: int) -> None:
    """Replace every note by others of which no name, tag, alias, word or link was there before."""
    for file in range(FILES):
        items = (
            f"## i{age}x{at}\n\nw{age}x{at} #t{age}x{at} [[n{age}x{file}#i{age}x{(at + 1) % ITEMS}]] [[gone{age}x{at}]]"
            for at in range(ITEMS)
        )
        text = f"---\ntags: [f{age}x{file}]\naliases: [a{age}x{file}]\n---\n" + "\n\n".join(items)
        index.remove_page(f"wiki/n{age - 1}x{file}.md")
        index.replace_page(page(f"wiki/n{age}x{file}.md", text))
        index.replace_page(page("wiki/same.md", text))
    index.retrieve(f"w{age}x1", category=f"n{age}*", tag=f"t{age}x1", owner=f"o{age}")
    index.graph.related(f"n{age}x0:i{age}x1", direction="out", depth=2)
    index.graph.related(f"n{age}x0:i{age}x1", direction="both", depth=2)


def test_what_is_gone_leaves_nothing_behind() -> None:
    index = index_of(merging=MergePolicy(most_unused=100))
    found = []
    for age in range(1, 101):
        live_through(index, age)
        if age in {50, 100}:
            index.merge(settled=True)
            found.append(held(index))
    assert found[1] < found[0] * 1.25
