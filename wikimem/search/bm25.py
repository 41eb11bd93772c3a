"""BM25 in its Lucene form, as bm25s computes it: the formula once, for arrays.

    score(item, query) = sum over terms of  weight · idf(term) · tf / (tf + K1 · (1 - B + B · length / average))
    idf(term)          = ln(1 + (N - df + 0.5) / (df + 0.5))

Source: Kamphuis et al., ECIR 2020, "Which BM25 do you mean?" (the "Lucene (accurate)" row). `K1` and `B` are the pair
that measured best over thirteen languages, see `docs/retrieval.md`.
"""

import numpy as np
import numpy.typing as npt

K1 = 0.9
B = 0.4

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]


def idf(df: npt.NDArray[np.integer], documents: int) -> FloatArray:
    """Return the weight of terms that `df` of `documents` items hold; 0 where nothing holds the term."""
    counts = df.astype(np.float64)
    # A live row can hold a term that the frozen statistics counted in every item: never below zero.
    missing = np.maximum(documents - counts, 0.0)
    weights = np.log1p((missing + 0.5) / (counts + 0.5))
    return np.where(counts > 0, weights, 0.0).astype(np.float32)


def norms(lengths: npt.NDArray[np.integer], average: float) -> FloatArray:
    """Return what a term frequency is weighed against in items of these lengths."""
    relative = lengths.astype(np.float32) / np.float32(average or 1.0)
    return np.float32(K1) * (np.float32(1.0 - B) + np.float32(B) * relative)


def saturation(tf: npt.NDArray[np.generic], norm: FloatArray) -> FloatArray:
    """Return the share of a term's weight that `tf` occurrences earn, 0 to 1."""
    counts = tf.astype(np.float32)
    return counts / (counts + norm)
