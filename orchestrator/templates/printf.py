"""Go's ``fmt`` for the verbs templates use. Mistakes show in the text, as they do in Go; none is raised."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.templates.values import ABSENT, Absent, Value, inner_text, kind

MAX_WIDTH = 1_000_000

_VERB = re.compile(
    r"%(?P<flags>[-+# 0]*)(?:\[(?P<index>\d+)\])?(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+)?)?"
    r"(?:\[(?P<late_index>\d+)\])?(?P<verb>.)?",
    re.DOTALL,
)
_POINT = re.compile(r"\.")


@dataclass(slots=True)
class Form:
    """How one operand is to be written."""

    verb: str
    flags: str = ""
    width: int | None = None
    precision: int | None = None

    def pad(self, text: str, *, zeros: bool = False) -> str:
        """``text`` in its width; zeros go between sign and digits."""
        if self.width is None or len(text) >= self.width:
            return text
        if "-" in self.flags:
            return text.ljust(self.width)
        if not zeros or "0" not in self.flags:
            return text.rjust(self.width)
        sign = text[:1] if text[:1] in ("+", "-", " ") and text else ""
        return sign + text[len(sign) :].rjust(self.width - len(sign), "0")


def sprint(values: Sequence[Value]) -> list[str]:
    """The parts of ``Sprint``: a space between two operands neither of which is a string."""
    parts: list[str] = []
    spaced = False
    for value in values:
        is_string = isinstance(value, str)
        if spaced and not is_string:
            parts.append(" ")
        parts.append(inner_text(value))
        spaced = not is_string
    return parts


def sprintf(layout: str, values: Sequence[Value]) -> list[str]:
    """The parts of ``Sprintf``."""
    return _Printer(values).run(layout)


class _Printer:
    def __init__(self, values: Sequence[Value]) -> None:
        self.values = values
        self.next = 0
        self.reordered = False

    def run(self, layout: str) -> list[str]:
        parts: list[str] = []
        position = 0
        while (start := layout.find("%", position)) >= 0:
            match = _VERB.match(layout, start)
            assert match is not None
            parts.append(layout[position:start])
            parts.append(self.directive(match))
            position = match.end()
        parts.append(layout[position:])
        if not self.reordered and self.next < len(self.values):
            parts.append(self.extra())
        return parts

    def directive(self, match: re.Match[str]) -> str:
        notes = ""
        form = Form(match["verb"] or "", match["flags"])
        if match["index"]:
            self.jump(match["index"])
        if match["width"]:
            form.width, bad = self.size(match["width"])
            notes += "%!(BADWIDTH)" if bad else ""
            if form.width is not None and form.width < 0:
                form.width, form.flags = -form.width, form.flags + "-"
        if _POINT.search(match[0]):
            form.precision, bad = self.size(match["precision"] or "0")
            notes += "%!(BADPREC)" if bad or (form.precision or 0) < 0 else ""
        if match["late_index"]:
            self.jump(match["late_index"])
        return notes + self.operand(form)

    def jump(self, index: str) -> None:
        self.reordered = True
        self.next = int(index) - 1

    def size(self, digits: str) -> tuple[int | None, bool]:
        """A width or precision, and whether it is bad; ``*`` takes it from the operands."""
        if digits != "*":
            size = int(digits[:9])
            return (None, True) if size > MAX_WIDTH else (size, False)
        value = self.values[self.next] if self.next < len(self.values) else None
        self.next += 1
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MAX_WIDTH:
            return None, True
        return value, False

    def operand(self, form: Form) -> str:
        if not form.verb:
            return "%!(NOVERB)"
        if form.verb == "%":
            return "%"
        if not 0 <= self.next < len(self.values):
            return f"%!{form.verb}({'BADINDEX' if self.reordered else 'MISSING'})"
        value = self.values[self.next]
        self.next += 1
        return written(form, value)

    def extra(self) -> str:
        left = (
            "<nil>" if value is None or value is ABSENT else f"{kind(value)}={inner_text(value)}"
            for value in self.values[self.next :]
        )
        return f"%!(EXTRA {', '.join(left)})"


def written(form: Form, value: Value) -> str:
    """One operand in its form."""
    if form.verb == "T":
        return form.pad("<nil>" if value is None or value is ABSENT else kind(value))
    match value:
        case None | Absent():
            return form.pad("<nil>") if form.verb == "v" else f"%!{form.verb}(<nil>)"
        case bool():
            return _boolean(form, value)
        case int():
            return _integer(form, value)
        case float():
            return _float(form, value)
        case str():
            return _string(form, value)
        case list() | tuple() if type(value) in (list, tuple) and form.verb != "v":
            return f"[{' '.join(written(form, member) for member in value)}]"
        case _:
            return _string(form, inner_text(value))


def _bad(form: Form, value: Value) -> str:
    return f"%!{form.verb}({kind(value)}={inner_text(value)})"


def _boolean(form: Form, value: bool) -> str:
    if form.verb not in "tv":
        return _bad(form, value)
    return form.pad("true" if value else "false")


_BASES: dict[str, Callable[[int], str]] = {
    "d": str,
    "v": str,
    "b": lambda number: f"{number:b}",
    "o": lambda number: f"{number:o}",
    "O": lambda number: f"{number:o}",
    "x": lambda number: f"{number:x}",
    "X": lambda number: f"{number:X}",
}
_PREFIXES = {"b": "0b", "o": "0", "x": "0x", "X": "0X"}


def _integer(form: Form, value: int) -> str:
    match form.verb:
        case "c":
            return form.pad(_character(value))
        case "q":
            return form.pad(_quoted_character(value))
        case "U":
            return form.pad(f"U+{value:04X}")
    if form.verb not in _BASES:
        return _bad(form, value)
    digits = _BASES[form.verb](abs(value))
    if form.precision is not None:
        digits = "" if form.precision == 0 and value == 0 else digits.rjust(form.precision, "0")
    prefix = "0o" if form.verb == "O" else _PREFIXES.get(form.verb, "") if "#" in form.flags else ""
    zeros = form.precision is None
    return form.pad(_sign(form, negative=value < 0) + prefix + digits, zeros=zeros)


def _sign(form: Form, *, negative: bool) -> str:
    if negative:
        return "-"
    return "+" if "+" in form.flags else " " if " " in form.flags else ""


def _float(form: Form, value: float) -> str:
    verb = form.verb
    if verb not in "eEfFgGv":
        return _bad(form, value)
    if verb in "vgG" and form.precision is None:
        digits = inner_text(abs(value))
        digits = digits.upper() if verb == "G" else digits
    else:
        precision = 6 if form.precision is None else form.precision
        digits = f"{abs(value):.{precision}{'g' if verb == 'v' else verb}}"
    return form.pad(_sign(form, negative=value < 0) + digits, zeros=True)


def _string(form: Form, value: str) -> str:
    match form.verb:
        case "s" | "v":
            shown = value if form.precision is None else value[: form.precision]
            return form.pad(shown, zeros=True)
        case "q":
            shown = value if form.precision is None else value[: form.precision]
            if "#" in form.flags and "`" not in shown and shown.isprintable():
                return form.pad(f"`{shown}`")
            return form.pad(quoted(shown))
        case "x" | "X":
            octets = value.encode("utf-8", "surrogateescape")[: form.precision]
            digits = octets.hex(" ") if " " in form.flags else octets.hex()
            return form.pad(digits.upper() if form.verb == "X" else digits)
        case _:
            return f"%!{form.verb}(string={value})"


def _character(code: int) -> str:
    return chr(code) if 0 <= code <= 0x10FFFF and not 0xD800 <= code < 0xE000 else "\ufffd"


def _quoted_character(code: int) -> str:
    character = _character(code)
    if character == "'":
        return r"'\''"
    return f"'{character}'" if character == '"' else f"'{quoted(character)[1:-1]}'"


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
