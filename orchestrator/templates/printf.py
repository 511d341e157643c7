"""Go's ``fmt`` for the verbs templates use. Mistakes show in the text, as they do in Go; none is raised."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from orchestrator.domain.quoting import quoted
from orchestrator.templates.values import (
    ABSENT,
    Absent,
    JsonList,
    JsonMap,
    Record,
    TypeNames,
    Value,
    inner_text,
    is_pointer,
    kind,
    operand_text,
)

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
    named: bool = False
    """Whether the names of fields are written."""

    def pad(self, text: str, *, signed: bool = False) -> str:
        """``text`` in its width; zeros go between the sign and the digits of a number."""
        if self.width is None or len(text) >= self.width:
            return text
        if "-" in self.flags:
            return text.ljust(self.width)
        if "0" not in self.flags:
            return text.rjust(self.width)
        sign = text[0] if signed and text[:1] in ("+", "-", " ") and text else ""
        return sign + text[len(sign) :].rjust(self.width - len(sign), "0")

    def without_zeros(self) -> Form:
        """The same, padded with spaces."""
        return replace(self, flags=self.flags.replace("0", ""))

    def cut(self, text: str) -> str:
        """``text`` up to its precision."""
        return text if self.precision is None else text[: self.precision]


def sprint(values: Sequence[Value], shown: Callable[[Value], str] = operand_text) -> list[str]:
    """The parts of ``Sprint``: a space between two operands neither of which is a string."""
    parts: list[str] = []
    spaced = False
    for value in values:
        is_string = isinstance(value, str)
        if spaced and not is_string:
            parts.append(" ")
        parts.append(shown(value))
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
            "<nil>" if value is None or value is ABSENT else f"{kind(value)}={operand_text(value)}"
            for value in self.values[self.next :]
        )
        return f"%!(EXTRA {', '.join(left)})"


def written(form: Form, value: Value) -> str:
    """One operand in its form."""
    if form.verb == "T":
        return form.pad(form.cut("<nil>" if value is None or value is ABSENT else kind(value)))
    if form.verb == "v" and "+" in form.flags:
        form = replace(form, flags=form.flags.replace("+", ""), named=True)
    if value is None or value is ABSENT:
        return form.pad("<nil>") if form.verb == "v" else f"%!{form.verb}(<nil>)"
    return f"&{_written(form, value)}" if is_pointer(value) else _written(form, value)


def _written(form: Form, value: Value) -> str:
    """An operand, or a part of one: nil shows in any form there."""
    match value:
        case None | Absent():
            return "<nil>"
        case bool():
            return _boolean(form, value)
        case int():
            return _integer(form, value)
        case float():
            return _float(form, value)
        case str():
            return _string(form, value)
        case _ if _is_text(form, value):
            return _string(form, inner_text(value))
        case _:
            return _parts(form, value)


def _is_text(form: Form, value: Value) -> bool:
    """Whether a value with parts says by itself how it is printed in this form."""
    if isinstance(value, bytes):
        return False
    says = isinstance(value, JsonList | JsonMap | TypeNames) or (
        isinstance(value, Record) and value.shown is not None
    )
    return says and form.verb in "vsxXq"


def _parts(form: Form, value: Value) -> str:
    """A value with parts, each in the form."""
    match value:
        case bytes() if form.verb not in "vd":
            return _string(form, value.decode("utf-8", "surrogateescape"))
        case Record():
            fields = ((f"{name}:" if form.named else "", part) for name, part in value.fields.items())
            return f"{{{' '.join(name + _written(form, part) for name, part in fields)}}}"
        case dict():
            members = (f"{_written(form, name)}:{_written(form, value[name])}" for name in sorted(value))
            return f"map[{' '.join(members)}]"
        case _:
            return f"[{' '.join(_written(form, part) for part in value)}]"


def _bad(form: Form, value: Value) -> str:
    return f"%!{form.verb}({kind(value)}={_written(replace(form, verb='v'), value)})"


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
            return form.without_zeros().pad(f"U+{value % 2**64:04X}")
    if form.verb not in _BASES:
        return _bad(form, value)
    digits = _BASES[form.verb](abs(value))
    if form.precision is not None:
        digits = "" if form.precision == 0 and value == 0 else digits.rjust(form.precision, "0")
    prefix = "0o" if form.verb == "O" else ""
    if "#" in form.flags:
        prefix = prefix or _PREFIXES.get(form.verb, "")
    padded = form if form.precision is None else form.without_zeros()
    return padded.pad(_sign(form, negative=value < 0) + prefix + digits, signed=True)


def _sign(form: Form, *, negative: bool) -> str:
    if negative:
        return "-"
    return next((sign for sign in "+ " if sign in form.flags), "")


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
    return form.pad(_sign(form, negative=math.copysign(1, value) < 0) + digits, signed=True)


def _string(form: Form, value: str) -> str:
    match form.verb:
        case "s" | "v":
            return form.pad(form.cut(value))
        case "q":
            shown = form.cut(value)
            if "#" in form.flags and "`" not in shown and shown.isprintable():
                return form.pad(f"`{shown}`")
            return form.pad(quoted(shown))
        case "x" | "X":
            return form.pad(_hexadecimal(form, value.encode("utf-8", "surrogateescape")[: form.precision]))
        case _:
            return _bad(form, value)


def _hexadecimal(form: Form, octets: bytes) -> str:
    prefix = "0x" if "#" in form.flags and octets else ""
    digits = prefix + (octets.hex(" ").replace(" ", f" {prefix}") if " " in form.flags else octets.hex())
    return digits.upper() if form.verb == "X" else digits


def _character(code: int) -> str:
    return chr(code) if 0 <= code <= 0x10FFFF and not 0xD800 <= code < 0xE000 else "\ufffd"


def _quoted_character(code: int) -> str:
    character = _character(code)
    if character == "'":
        return r"'\''"
    return f"'{character}'" if character == '"' else f"'{quoted(character)[1:-1]}'"
