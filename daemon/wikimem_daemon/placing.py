"""What a path is, remembered: one burst asks the layout about each path several times."""

from wikimem.pages.layout import OWN_KINDS, Layout, PlaceKind

_REMEMBERED = 50_000


class Placing:
    """Answers by `layout`. Safe to ask from a thread."""

    def __init__(self, layout: Layout) -> None:
        self.relayout(layout)

    def relayout(self, layout: Layout) -> None:
        """Go by another layout from now on."""
        self.layout = layout
        self.tops = layout.tops
        self._kinds: dict[str, PlaceKind] = {}

    def kind(self, path: str) -> PlaceKind:
        """Say what a file's path is."""
        kind = self._kinds.get(path)
        if kind is None:
            kind = self.layout.classify(path).kind
            if len(self._kinds) >= _REMEMBERED:
                self._kinds = {}
            self._kinds[path] = kind
        return kind

    def is_ours(self, path: str) -> bool:
        """Say whether a file at this path is read, or reported."""
        return self.kind(path) in OWN_KINDS

    def wants(self, folder: str) -> bool:
        """Say whether a folder is to be listed: it lies in a top folder, or on the way to one."""
        return self.layout.wants(folder)

    def is_below_top(self, path: str) -> bool:
        """Say whether a path lies in one of the folders that hold notes."""
        return self.layout.is_below_top(path)
