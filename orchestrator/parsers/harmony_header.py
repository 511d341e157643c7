"""Headers of harmony's messages: a role, a channel, a recipient, a type of content, in nearly any order.

Source: ``parsers`` §6.2.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from orchestrator.parsers.text import BLANK, Tags, trim

ASSISTANT = "assistant"
CHANNEL, CONSTRAIN, MESSAGE = "<|channel|>", "<|constrain|>", "<|message|>"
RECIPIENT = "to="

_ROLES = (ASSISTANT, "user", "system", "developer", "tool")
_PARTS = Tags(CHANNEL, CONSTRAIN, MESSAGE)
_WORD = rf"[^<{BLANK}]"
_CHANNEL_NAME = re.compile(rf"<\|channel\|>(?P<name>[^{BLANK}]*)")
_BLANKS = re.compile(rf"[{BLANK}]+")
_HEADER = re.compile(
    rf"""\s*+ (?: (?:{"|".join(_ROLES)}) (?:to={_WORD}*+)? | (?:functions\.|to=) {_WORD}*+ )
    (?: \s*+ <\|(?:channel|constrain)\|> {_WORD}*+
      | \s++ to= {_WORD}*+ (?: \s++ (?!to=) {_WORD}++ )?
    )*+
    (?: \s++ to? )? \s*+""",
    re.VERBOSE,
)


class Header(NamedTuple):
    """Where a message goes."""

    channel: str
    recipient: str


def read_header(text: str) -> Header:
    """What a header says, the role left out; whatever it says, it is one."""
    text = text.replace(CONSTRAIN, f" {CONSTRAIN}", 1)
    channel = ""
    if found := _CHANNEL_NAME.search(text):
        channel = found["name"]
        text = trim(text[: found.start()] + text[found.end() :])
    words = [word for word in _BLANKS.split(text) if word][:2]
    recipient = next((word for word in words if word.startswith(RECIPIENT)), RECIPIENT)
    # a second channel may stick to the name (case B035)
    return Header(channel, recipient.removeprefix(RECIPIENT).partition("<|")[0])


def looks_like_header(text: str) -> bool:
    """Whether ``text`` is a header or the beginning of one, not other text."""
    head = _PARTS.without_partial(text)
    return any(role.startswith(head) for role in _ROLES) or _HEADER.fullmatch(head) is not None
