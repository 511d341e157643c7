"""The inside of glm's calls: a name, then elements ``<arg_key>`` and ``<arg_value>`` by turns.

Source: ``parsers`` §5.12.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from orchestrator.parsers.text import BLANK, trim

KEY, KEY_CLOSE, VALUE, VALUE_CLOSE = "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"

ELEMENT_TAGS = (KEY, KEY_CLOSE, VALUE, VALUE_CLOSE)
"""In the order in which they come."""
_PARTNER = {KEY: KEY_CLOSE, VALUE: VALUE_CLOSE}
_TAG = re.compile(f"({'|'.join(ELEMENT_TAGS)})")
_FIRST_WORD = re.compile(rf"[^{BLANK}]*")


class Elements(NamedTuple):
    """The name, which is all text outside the elements, and the texts of the elements."""

    name: str
    keys: list[str]
    values: list[str]


def read_elements(text: str) -> Elements | None:
    """The parts of a call; ``None`` if its tags do not nest. Line ends become LF."""
    first, *pieces = _TAG.split(text.replace("\r\n", "\n").replace("\r", "\n"))
    outside = [first]
    keys: list[str] = []
    values: list[str] = []
    open_tags: list[str] = []
    element: list[str] = []
    for tag, after in zip(pieces[::2], pieces[1::2], strict=True):
        if tag in _PARTNER:
            open_tags.append(tag)
            if len(open_tags) == 1:
                element = []
        elif not open_tags or _PARTNER[open_tags[-1]] != tag:
            return None
        else:
            opener = open_tags.pop()
            if not open_tags:
                (keys if opener == KEY else values).append("".join(element))
        if len(open_tags) < 2:
            (element if open_tags else outside).append(after)
    return None if open_tags else Elements(trim("".join(outside)), [trim(key) for key in keys], values)


def repaired(text: str) -> str:
    """``text`` with the tags that are missing between its tags; what follows the last element is cut off."""
    first, *pieces = _TAG.split(text)
    if not pieces:
        return text
    name, before = _name_and_key(first, pieces[0])
    out, turn = [name], 0
    for tag, after in zip(pieces[::2], pieces[1::2], strict=True):
        if ELEMENT_TAGS[turn] != tag and ELEMENT_TAGS[turn] in _PARTNER and trim(before):
            out += ELEMENT_TAGS[turn], before
            turn, before = turn + 1, ""
        found = ELEMENT_TAGS.index(tag)
        out += _with_text(_missing(turn, found), before)
        out.append(tag)
        turn, before = (found + 1) % len(ELEMENT_TAGS), after
    if ELEMENT_TAGS[turn] not in _PARTNER:
        out += before, ELEMENT_TAGS[turn]
        turn = (turn + 1) % len(ELEMENT_TAGS)
    if ELEMENT_TAGS[turn] == VALUE:
        out += VALUE, VALUE_CLOSE
    return "".join(out)


def _name_and_key(text: str, tag: str) -> tuple[str, str]:
    """Text before the first tag: the name; and the start of a key, if the tag that opens one is missing."""
    if tag == KEY:
        return text, ""
    body = trim(text)
    word = _FIRST_WORD.match(body)
    end = word.end() if word else 0
    return body[:end], trim(body[end:])


def _missing(turn: int, found: int) -> list[str]:
    """The tags from the one whose turn it is up to the one that was found."""
    return [
        ELEMENT_TAGS[index % len(ELEMENT_TAGS)]
        for index in range(turn, found + len(ELEMENT_TAGS) * (found < turn))
    ]


def _with_text(tags: list[str], text: str) -> list[str]:
    """``tags`` with ``text`` before the last closing one; before all, if none closes."""
    closing = [index for index, tag in enumerate(tags) if tag not in _PARTNER]
    at = closing[-1] if closing else 0
    return [*tags[:at], text, *tags[at:]]
