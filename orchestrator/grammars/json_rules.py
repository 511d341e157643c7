"""The rules of JSON itself, added to a book as they are needed.

White space is allowed where people put it: after brackets, colons and commas, and before closing brackets; a
little of it, because a model that is unsure would otherwise go on with blanks for ever. Numbers stay within
what every reader of JSON can hold, and ``\\u`` never stands for half of a character.
"""

from __future__ import annotations

import re

from orchestrator.grammars.gbnf import RuleBook

_RULES = {
    "space": r'| " " | "\n"{1,2} [ \t]{0,20}',
    "value": "object | array | string | number | boolean | null",
    "object": '"{" space (member ("," space member)* space)? "}"',
    "member": 'string ":" space value',
    "array": '"[" space (value ("," space value)* space)? "]"',
    "string": r'"\"" char* "\""',
    "char": r'[^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" (one-unit | two-units))',
    "one-unit": "[0-9a-cA-CefEF] hex{3} | [dD] [0-7] hex{2}",
    "two-units": r'[dD] [89abAB] hex{2} "\\u" [dD] [c-fC-F] hex{2}',
    "hex": "[0-9a-fA-F]",
    "number": 'integer ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?',
    "integer": '"-"? ("0" | [1-9] [0-9]{0,15})',
    "boolean": '"true" | "false"',
    "null": '"null"',
    "date": '[0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | [12] [0-9] | "3" [01])',
    "time": 'hour ":" minute ":" minute ("." [0-9]{1,9})? ("Z" | [+-] hour ":" minute)',
    "hour": '[01] [0-9] | "2" [0-3]',
    "minute": "[0-5] [0-9]",
    "date-time": 'date "T" time',
    "uuid": 'hex{8} "-" hex{4} "-" hex{4} "-" hex{4} "-" hex{12}',
}

_WORDS_OUTSIDE_LITERALS = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|([a-z][a-z-]*)')


def json_rule(book: RuleBook, name: str) -> str:
    """``name``, of whose rule ``book`` has all parts from now on."""
    pending = [name]
    while pending:
        wanted = pending.pop()
        if wanted not in book:
            body = _RULES[wanted]
            book.define(book.reserve(wanted), body)
            pending += filter(None, _WORDS_OUTSIDE_LITERALS.findall(body))
    return name
