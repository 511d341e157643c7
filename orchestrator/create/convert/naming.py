"""Renaming tensors by a list of replacements.

One scan from left to right: at each place the first source of the list that matches wins, not the longest,
and what has been replaced is not looked at again. The order of a list therefore matters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping


class Renaming:
    """A list of replacements, ready to be applied."""

    def __init__(self, replacements: Mapping[str, str]) -> None:
        self._replacements = replacements
        self._sources = re.compile("|".join(map(re.escape, replacements)))

    def __call__(self, name: str) -> str:
        return self._sources.sub(lambda match: self._replacements[match[0]], name)
