"""What parsers know about plain text: which characters are blank, and where tags stand or begin.

Source: ``parsers`` §2.
"""

from __future__ import annotations

import re

# what Unicode calls white space; Python's strip() would take the separators U+001C to U+001F as well
BLANK = "".join(
    map(
        chr,
        (
            *range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F,
            0x205F, 0x3000,
        ),
    )
)  # fmt: skip


def trim(text: str) -> str:
    """``text`` without white space at both ends."""
    return text.strip(BLANK)


def ends_within(text: str, opening: str, closing: str, *, within: bool) -> bool:
    """Whether ``text`` ends within an element, given whether it starts within one."""
    opened, closed = text.rfind(opening), text.rfind(closing)
    return within if opened == closed else opened > closed


class Tags:
    """A set of tags to look for. None may be the beginning of another one."""

    def __init__(self, *tags: str) -> None:
        self.all = tags
        self._longest = max(map(len, tags), default=0)
        self._beginnings = frozenset(tag[:length] for tag in tags for length in range(1, len(tag)))
        first = f"[{''.join(map(re.escape, sorted({tag[0] for tag in tags})))}]" if tags else "(?!)"
        self._first = re.compile(first)
        whole = re.compile("|".join(map(re.escape, tags)) or "(?!)")
        self.search = whole.search
        """Finds the first complete tag."""
        self.match = whole.match
        """Finds a complete tag at one place."""
        self.finditer = whole.finditer
        """Finds all complete tags."""
        self.stirs = self._first.search
        """Whether a text needs a closer look: it has a character that begins a tag."""

    def partial(self, text: str) -> int:
        """The length of the longest beginning of a tag, not a whole one, that ``text`` ends in."""
        for match in self._first.finditer(text, max(0, len(text) - self._longest + 1)):
            if text[match.start() :] in self._beginnings:
                return len(text) - match.start()
        return 0

    def without_partial(self, text: str) -> str:
        """``text`` without the beginning of a tag at its end."""
        return text[: len(text) - self.partial(text)]


NO_TAGS = Tags()
