"""The arguments of gemma4's calls: nearly JSON, with bare keys and strings between ``<|"|>``.

Source: ``parsers`` §5.13.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.parsers.declared import DeclaredTools
from orchestrator.parsers.json_text import json_object, quoted
from orchestrator.parsers.text import BLANK

DELIMITER = '<|"|>'

_STRINGS = r"""(?P<string><\|"\|>(?P<text>.*?)(?P<end><\|"\|>|\Z))|(?P<json>"(?:[^"\\]|\\.)*+(?:"|\Z))"""
_STRING_OR_KEY = re.compile(rf"{_STRINGS}|(?P<before>[{{,]\s*+)(?P<key>[\w.\-]++)\s*+:", re.DOTALL)
_STRING_OR_EQUALS = re.compile(rf"{_STRINGS}|(?P<before>[{{,]\s*+)(?P<key>[\w.\-]++)\s*+=", re.DOTALL)
_STRING_OR_SINGLE_QUOTES = re.compile(
    rf"""{_STRINGS}|(?P<colon>:\s*+)'(?P<single>[^']*+)'(?:<\|"\|>)?""", re.DOTALL
)
_NO_RAW_TEXT = re.compile(r"""<\|"\|>|["'{\[0-9\-tfn]|\Z""")


def read_arguments(text: str) -> Mapping[str, Any] | None:
    """The arguments that ``text`` is; ``None`` if it is not as it should be."""
    return json_object(_STRING_OR_KEY.sub(_as_json, text))


def repaired_arguments(text: str, tool: str, tools: DeclaredTools) -> Mapping[str, Any] | None:
    """The arguments that ``text`` is, or was meant to be."""
    for candidate in _candidates(text, tool, tools):
        if (found := read_arguments(candidate)) is not None:
            return found
    return None


def _as_json(match: re.Match[str]) -> str:
    if match["string"] is not None:
        return quoted(match["text"]) if match["end"] else match[0]
    if match["json"] is not None:
        return match[0]
    return f"{match['before']}{quoted(match['key'])}:"


def _candidates(text: str, tool: str, tools: DeclaredTools) -> Iterator[str]:
    yield from _mended(text, tool, tools)
    colons = _STRING_OR_EQUALS.sub(_with_colon, text)
    if colons != text:
        yield from _mended(colons, tool, tools)


def _with_colon(match: re.Match[str]) -> str:
    return match[0] if match["before"] is None else f"{match['before']}{match['key']}:"


def _mended(text: str, tool: str, tools: DeclaredTools) -> Iterator[str]:
    yield text
    yield _with_partners(text, must_close=False)
    if (delimited := _with_raw_text_delimited(text, tool, tools)) is not None:
        yield _with_partners(delimited, must_close=True)


def _with_partners(text: str, *, must_close: bool) -> str:
    """``text`` with single quotes made delimiters, and a delimiter and a brace that lack their partner."""
    mended = _STRING_OR_SINGLE_QUOTES.sub(_without_single_quotes, text)
    if mended.count(DELIMITER) % 2:
        body = mended.rstrip(BLANK)
        cut = len(body) - body.endswith(("}", "]"))
        mended = body[:cut] + DELIMITER + body[cut:]
    if (must_close or mended != text) and not mended.rstrip(BLANK).endswith("}"):
        mended += "}"
    return mended


def _without_single_quotes(match: re.Match[str]) -> str:
    if match["colon"] is None:
        return match[0]
    return f"{match['colon']}{DELIMITER}{match['single']}{DELIMITER}"


def _with_raw_text_delimited(text: str, tool: str, tools: DeclaredTools) -> str | None:
    """``text`` with the first value delimited that should be a string and is bare text."""
    keys = "|".join(map(re.escape, tools.parameters(tool)))
    for name in tools.strings(tool):
        found = re.search(rf"[{{,]\s*+{re.escape(name)}\s*+:\s*+", text)
        if found is None or _NO_RAW_TEXT.match(text, found.end()):
            continue
        if following := re.compile(rf",\s*+(?:{keys})\s*+:").search(text, found.end()):
            end = following.start()
        else:
            last_brace = text.rfind("}", found.end())
            end = last_brace if last_brace >= 0 else len(text)
        return f"{text[: found.end()]}{DELIMITER}{text[found.end() : end]}{DELIMITER}{text[end:]}"
    return None
