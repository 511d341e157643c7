"""The names tools get in prompts of harmony, which declares them like TypeScript.

Source: ``parsers`` §6.5.
"""

from __future__ import annotations

from collections.abc import Sequence

_BUILT_IN = frozenset({"browser.open", "browser.search", "browser.find", "python"})
_SEPARATORS = " -."


def prompt_names(names: Sequence[str]) -> list[str]:
    """The names as identifiers, each used once."""
    out: list[str] = []
    taken: set[str] = set()
    for name in names:
        unique = name if name in _BUILT_IN else _unused(identifier(name), taken)
        taken.add(unique)
        out.append(unique)
    return out


def identifier(name: str) -> str:
    """``name`` with nothing in it but letters and digits of any script, ``_`` and ``$``."""
    text = "".join("_" if char in _SEPARATORS else char for char in name)
    text = "".join(char for char in text if char.isalpha() or char.isdecimal() or char in "_$")
    if not text:
        return "unnamed"
    return f"_{text}" if text[0] in "0123456789" else text


def _unused(name: str, taken: set[str]) -> str:
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    return unique
