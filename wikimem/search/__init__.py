"""Ranking over pages: pure, given ports."""
