"""Bytes in, spans and edits out: no I/O, no clock, no randomness."""
