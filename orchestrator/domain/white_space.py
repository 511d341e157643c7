"""White space as Unicode has it; Python's ``strip()`` would take the separators U+001C to U+001F as well."""

from __future__ import annotations

from typing import Final

WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""To be given to ``strip``, ``lstrip`` and ``rstrip``."""


def trim(text: str) -> str:
    """``text`` without white space at both ends."""
    return text.strip(WHITE_SPACE)
