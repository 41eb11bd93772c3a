"""Where merges and builds run: a port with two adapters, in this process and in a child."""

from typing import Protocol

from wikimem.search import merging
from wikimem.search.corpus import BuildJob, Built, Merged, MergeJob


class Builder(Protocol):
    """Does the heavy work on arrays. Both calls block; neither touches the index."""

    def merge(self, job: MergeJob) -> Merged:
        """Return the base that holds old and newer rows."""

    def build(self, job: BuildJob) -> Built:
        """Return the base of all texts with its vocabulary."""


class InlineBuilder:
    """Works right here, in the calling thread."""

    def merge(self, job: MergeJob) -> Merged:
        """Return the base that holds old and newer rows."""
        return merging.merge(job)

    def build(self, job: BuildJob) -> Built:
        """Return the base of all texts with its vocabulary."""
        return merging.build(job)
