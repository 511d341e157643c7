"""Examination of an engine: what it is, what it has, whether it can serve."""
