"""Reading a Modelfile.

::

    file        = { blank | comment | instruction }
    comment     = "#" up to the newline            only where an instruction could start
    instruction = keyword SPACE value
                | "parameter" SPACE name SPACE value
                | "message" SPACE role SPACE value
    value       = '\"""' … '\"""' | '"' … '"' | the line, trimmed

A quoted value ends with the first line that ends with its quote. There are no escapes.
Source: ``modelfile`` §1.
"""

from __future__ import annotations

import re

from orchestrator.modelfile.commands import Command, Keyword, Modelfile
from orchestrator.modelfile.errors import InvalidModelfile
from orchestrator.modelfile.tokens import BLANKS, SPACES, Scanner, decoded, printable

ROLES = ("system", "user", "assistant")

_KEYWORDS = [f'"{keyword}"' for keyword in Keyword]
_WRONG_COMMAND = f"command must be one of {', '.join(_KEYWORDS[:-1])}, or {_KEYWORDS[-1]}"
_WRONG_ROLE = 'message role must be one of "system", "user", or "assistant"'
_UNEXPECTED_END = "unexpected EOF"

_LETTER = re.compile("[A-Za-z]")
_NAME_CHARACTER = re.compile("[A-Za-z0-9_]")


def parse_modelfile(source: bytes | str) -> Modelfile:
    """The commands of a Modelfile. Raises ``InvalidModelfile``."""
    scanner = Scanner(source if isinstance(source, str) else decoded(source))
    commands = []
    while scanner.skip_between():
        commands.append(_command(scanner))
    if not any(command.keyword is Keyword.FROM for command in commands):
        raise InvalidModelfile(
            "no FROM line", hint="name the model or file to start from: FROM <name or path>"
        )
    return Modelfile(tuple(commands))


def _command(scanner: Scanner) -> Command:
    line = scanner.line
    keyword = _keyword(scanner, line)
    name = ""
    if keyword is Keyword.PARAMETER:
        name = _name(scanner, line, _NAME_CHARACTER)
    elif keyword is Keyword.MESSAGE:
        name = _name(scanner, line, _LETTER)
        if name not in ROLES:
            raise _wrong(scanner, line, _WRONG_ROLE)
    return Command(keyword, _value(scanner, line), name, line)


def _keyword(scanner: Scanner, line: int) -> Keyword:
    word = printable(scanner.take())  # any character may come first; an invisible one vanishes
    while (character := scanner.take()) not in SPACES:
        if not _LETTER.match(character):
            raise _wrong(scanner, line, _WRONG_COMMAND)
        word += character
    if not character:
        raise _ended(line, "a keyword must be followed by a space and a value")
    try:
        return Keyword(word.lower())
    except ValueError:
        raise _wrong(scanner, line, _WRONG_COMMAND) from None


def _name(scanner: Scanner, line: int, allowed: re.Pattern[str]) -> str:
    """The name of a parameter or a role. Blanks in front of it are accepted, which Ollama does not."""
    scanner.skip_spaces()
    name = ""
    while (character := scanner.take()) not in SPACES:
        if not allowed.match(character):
            raise InvalidModelfile(f"{_UNEXPECTED_END}: {name}", hint=_where(scanner, line))
        name += character
    if not character:
        raise _ended(line, "a name and a value must follow")
    return name


def _value(scanner: Scanner, line: int) -> str:
    first = printable(scanner.take_line()).lstrip(SPACES)
    trimmed = first.rstrip(SPACES)
    quote = next((mark for mark in ('"""', '"') if first.startswith(mark)), "")
    if not quote:
        return trimmed
    if len(trimmed) >= 2 * len(quote) and trimmed.endswith(quote):
        return trimmed[len(quote) : -len(quote)]
    parts = [first]
    while not scanner.at_end:
        parts += scanner.take(), printable(scanner.take_line())
        if parts[-1].rstrip(SPACES).endswith(quote):
            return "".join(parts).rstrip(BLANKS)[len(quote) : -len(quote)]
    raise _ended(line, f"the {quote} opened here is never closed at the end of a line")


def _wrong(scanner: Scanner, line: int, message: str) -> InvalidModelfile:
    return InvalidModelfile(f"(line {scanner.counter}): {message}", hint=_where(scanner, line))


def _ended(line: int, reason: str) -> InvalidModelfile:
    return InvalidModelfile(_UNEXPECTED_END, hint=f"line {line}: {reason}")


def _where(scanner: Scanner, line: int) -> str:
    return f'line {line} reads "{scanner.line_text(line)[:80]}"'
