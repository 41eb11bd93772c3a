"""The vector cache on disk and the embedding clients."""
