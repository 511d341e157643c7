"""Recorded command lines and sessions at a terminal, run again with our own program."""
