"""The terms of texts, worked out ahead in a thread: over a long note that takes a second, and queries cannot wait."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wikimem.search.analyzer import Analyzer, Tokens, Vocabulary


@dataclass(frozen=True, slots=True)
class Prepared:
    """Texts and their terms; `names` are the terms by the numbers that `tokens` gives them."""

    texts: Sequence[str]
    names: Sequence[str]
    tokens: Tokens

    def numbered(self, vocabulary: Vocabulary) -> Tokens:
        """Return the terms with the numbers of a vocabulary, which grows by those that are new to it."""
        numbers = np.fromiter(map(vocabulary.ids.__getitem__, self.names), np.int32, len(self.names))
        vocabulary.note_new()
        return self.tokens._replace(terms=numbers[self.tokens.terms])


def prepare(texts: Sequence[str]) -> Prepared:
    """Work out the terms of texts. Safe in a thread."""
    analyzer = Analyzer()
    tokens = analyzer.tokens(texts)
    return Prepared(texts, list(analyzer.vocabulary.ids), tokens)
