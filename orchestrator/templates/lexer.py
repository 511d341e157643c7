"""Template text cut into tokens, by the rules of Go's ``text/template/parse``."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from orchestrator.templates.errors import TemplateSyntaxError


class Kind(StrEnum):
    """What a token is."""

    TEXT = "text"
    LEFT = "{{"
    RIGHT = "}}"
    SPACE = "space"
    ASSIGN = "="
    DECLARE = ":="
    PIPE = "|"
    STRING = "string"
    RAW_STRING = "raw string"
    CHARACTER = "character constant"
    NUMBER = "number"
    FIELD = "field"
    DOT = "."
    VARIABLE = "variable"
    KEYWORD = "keyword"
    NIL = "nil"
    BOOL = "boolean"
    IDENTIFIER = "identifier"
    OPEN = "("
    CLOSE = ")"
    OTHER = "character"
    END = "EOF"


class Token(NamedTuple):
    """A piece of a template and the line it starts on."""

    kind: Kind
    text: str
    line: int


KEYWORDS = frozenset(
    ("block", "break", "continue", "define", "else", "end", "if", "range", "template", "with")
)

MAX_TOKENS = 20_000
"""More than ten times what the longest published templates have."""

_SPACES = " \t\r\n"
_TRIMMED_RIGHT = re.compile(r"[ \t\r\n]-\}\}")
_COMMENT_END = re.compile(r"\*/([ \t\r\n]-)?(\}\})?")
_WORD_END = re.compile(r"[ \t\r\n.,|:)(]|\}\}|\Z")
_NOT_TEXT = re.compile("[\udc80-\udcff]")
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?"
    r"|0[oO][0-7_]*|0[bB][01_]*"
    r"|[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)"
)
_TOKEN = re.compile(
    r"""(?P<SPACE>[ \t\r\n]+)
    |(?P<DECLARE>:=)|(?P<ASSIGN>=)|(?P<PIPE>\|)|(?P<OPEN>\()|(?P<CLOSE>\))
    |(?P<STRING>"(?:[^"\\\n]|\\[^\n])*")
    |(?P<RAW_STRING>`[^`]*`)
    |(?P<CHARACTER>'(?:[^'\\\n]|\\[^\n])*')
    |(?P<VARIABLE>\$\w*)
    |(?P<FIELD>\.(?!\d)\w+)
    |(?P<DOT>\.(?!\d))
    |(?P<NUMBER>[.+-]|\d)
    |(?P<IDENTIFIER>\w+)
    |(?P<OTHER>[!-~])
    """,
    re.VERBOSE,
)
_UNTERMINATED = {
    '"': "unterminated quoted string",
    "`": "unterminated raw quoted string",
    "'": "unterminated character constant",
}


def tokens(source: str) -> list[Token]:
    """The tokens of a template, ``END`` last. Raises ``TemplateSyntaxError``."""
    return _Lexer(source).run()


class _Lexer:
    def __init__(self, source: str) -> None:
        self.source = source
        self.position = 0
        self.line = 1
        self.found: list[Token] = []

    def run(self) -> list[Token]:
        while (left := self.source.find("{{", self.position)) >= 0:
            self._text(left)
            self._action()
        if self.position < len(self.source):
            self._put(Kind.TEXT, len(self.source))
        self._add(Kind.END, "")
        return self.found

    def _text(self, end: int) -> None:
        """Text before an action, trimmed if the action asks for it; the cursor is left on the action."""
        text = self.source[self.position : end]
        if self._trims_left(end + 2):
            text = text.rstrip(_SPACES)
        if text:
            self._add(Kind.TEXT, text)
        self._skip(end)

    def _action(self) -> None:
        marker = 2 if self._trims_left(self.position + 2) else 0
        if self.source.startswith("/*", self.position + 2 + marker):
            self._comment(self.position + 4 + marker)
            return
        self._add(Kind.LEFT, "{{")
        self._skip(self.position + 2 + marker)
        depth = 0
        while not self._at_right():
            depth += self._token()
            if depth < 0:
                raise self._error("unexpected right paren")
        if depth:
            raise self._error("unclosed left paren")
        self._right()

    def _comment(self, start: int) -> None:
        end = _COMMENT_END.search(self.source, start)
        if end is None:
            raise self._error("unclosed comment")
        if end[2] is None:
            raise self._error("comment ends before closing delimiter")
        self._skip(end.end())
        if end[1]:
            self._skip_spaces()

    def _at_right(self) -> bool:
        return (
            self.source.startswith("}}", self.position)
            or _TRIMMED_RIGHT.match(self.source, self.position) is not None
        )

    def _right(self) -> None:
        trims = not self.source.startswith("}}", self.position)
        self._add(Kind.RIGHT, "}}")
        self._skip(self.position + (4 if trims else 2))
        if trims:
            self._skip_spaces()

    def _token(self) -> int:
        """Read one token inside an action; the change in depth of parentheses."""
        match = _TOKEN.match(self.source, self.position)
        if match is None:
            raise self._bad_token()
        if _NOT_TEXT.search(match[0]):
            raise self._error("invalid UTF-8 in action")
        kind = Kind[str(match.lastgroup)]
        end = match.end()
        match kind:
            case Kind.SPACE:
                end = self._space_end(end)
            case Kind.NUMBER:
                end = self._number_end()
            case Kind.IDENTIFIER:
                kind = _word_kind(match[0])
            case _:
                pass
        if kind in _WORDS:
            self._check_word_end(end)
        self._put(kind, end)
        return (kind is Kind.OPEN) - (kind is Kind.CLOSE)

    def _space_end(self, end: int) -> int:
        """The end of a run of spaces, less the last one if it belongs to a trimming ``-}}``."""
        return end - 1 if self.source.startswith("-}}", end) else end

    def _number_end(self) -> int:
        match = _NUMBER.match(self.source, self.position)
        end = match.end() if match else self.position + 1
        if self.source[end : end + 1].isalnum() or end == self.position:
            raise self._error(f'bad number syntax: "{self.source[self.position : end + 1]}"')
        return end

    def _check_word_end(self, end: int) -> None:
        if not _WORD_END.match(self.source, end):
            raise self._error(f"bad character {_code_point(self.source[end])}")

    def _bad_token(self) -> TemplateSyntaxError:
        here = self.source[self.position : self.position + 1]
        if not here:
            return self._error("unclosed action")
        if here == ":":
            return self._error("expected :=")
        message = _UNTERMINATED.get(here, f"unrecognized character in action: {_code_point(here)}")
        return self._error(message)

    def _trims_left(self, position: int) -> bool:
        marker = self.source[position : position + 2]
        return len(marker) == 2 and marker[0] == "-" and marker[1] in _SPACES

    def _skip_spaces(self) -> None:
        rest = self.position
        while rest < len(self.source) and self.source[rest] in _SPACES:
            rest += 1
        self._skip(rest)

    def _put(self, kind: Kind, end: int) -> None:
        self._add(kind, self.source[self.position : end])
        self._skip(end)

    def _add(self, kind: Kind, text: str) -> None:
        if len(self.found) > MAX_TOKENS:
            raise self._error("the template is too long")
        self.found.append(Token(kind, text, self.line))

    def _skip(self, end: int) -> None:
        self.line += self.source.count("\n", self.position, end)
        self.position = end

    def _error(self, message: str) -> TemplateSyntaxError:
        return TemplateSyntaxError(message, line=self.line)


_WORDS = frozenset((Kind.VARIABLE, Kind.FIELD, Kind.DOT, Kind.IDENTIFIER, Kind.KEYWORD, Kind.NIL, Kind.BOOL))


def _word_kind(word: str) -> Kind:
    if word in KEYWORDS:
        return Kind.KEYWORD
    if word in ("true", "false"):
        return Kind.BOOL
    return Kind.NIL if word == "nil" else Kind.IDENTIFIER


def _code_point(character: str) -> str:
    return f"U+{ord(character):04X} '{character}'"
