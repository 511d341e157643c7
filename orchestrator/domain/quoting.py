"""Text in quotes, as Ollama puts names and values into its messages: a string literal of Go."""

from __future__ import annotations

_SHORT_ESCAPES = {
    "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v",
    '"': r"\"", "\\": r"\\",
}  # fmt: skip


def quoted(text: str) -> str:
    """``text`` as a Go string literal."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if (short := _SHORT_ESCAPES.get(character)) is not None:
        return short
    code = ord(character)
    if character.isprintable():
        return character
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
