"""The values templates work on, and how they differ from Python's.

Booleans, integers, floats and strings are Python's; lists and tuples are lists; dicts are maps, whose missing
members are ``None``. ``Record`` is a struct: asking it for a field it has not is an error. ``None`` is a nil
that stands in a map; once it has been the result of a pipeline it is ``ABSENT``, whose fields are absent too.
Truth is Python's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from orchestrator.domain import prompt_json

Value = Any


class Absent:
    """The type of ``ABSENT``."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()

PROPERTY: Final = "ToolProperty"
"""The kind of the records that know their TypeScript type."""
MESSAGE: Final = "Message"
"""The kind of the records that templates hold by a pointer."""


class ExecutionFault(Exception):
    """Something that ends the execution of a template."""

    where = ""

    def locate(self, line: int) -> None:
        """Say in which line it happened, unless that is known."""
        self.where = self.where or f":{line}: "


class Lazy(dict[str, Value]):
    """Fields of which some are made when they are first asked for."""

    __slots__ = ("_makers",)

    def __init__(self, ready: Mapping[str, Value], makers: Mapping[str, Callable[[], Value]]) -> None:
        super().__init__(ready)
        self._makers = makers

    def __missing__(self, name: str) -> Value:
        value = self[name] = self._makers[name]()
        return value


class Record:
    """A struct: its name, its fields, its JSON, and the JSON it prints as, if it prints as JSON."""

    __slots__ = ("fields", "json", "kind", "shown")

    def __init__(
        self,
        kind: str,
        fields: dict[str, Value],
        json: Callable[[], Any],
        shown: Callable[[], Any] | None = None,
    ) -> None:
        self.kind = kind
        self.fields = fields
        self.json = json
        self.shown = shown


class JsonList(list[Value]):
    """A list that prints as JSON."""

    __slots__ = ()


class NilList(list[Value]):
    """A list that was never made: empty, and ``null`` in JSON."""

    __slots__ = ()


class NilJsonList(JsonList, NilList):
    """A list that was never made, of the kind that prints as JSON."""

    __slots__ = ()


class JsonMap(dict[str, Value]):
    """A map that prints as JSON."""

    __slots__ = ()


class TypeNames(list[str]):
    """The types of a property: a single one prints, and is written in JSON, as a bare word."""

    __slots__ = ()


def kind(value: Value) -> str:
    """The name of a value's kind, as messages and comparisons know it."""
    match value:
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float64"
        case str():
            return "string"
        case dict():
            return "map"
        case list() | tuple():
            return "slice"
        case bytes():
            return "bytes"
        case Record():
            return str(value.kind)
        case _:
            return "nil"


def field(value: Value, name: str) -> Value:
    """The field of that name. Raises ``ExecutionFault`` where the value can have no such field."""
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, Record):
        try:
            return value.fields[name]
        except KeyError:
            raise ExecutionFault(f"can't evaluate field {name} in type {value.kind}") from None
    if value is ABSENT:
        return ABSENT
    if value is None:
        raise ExecutionFault(f"nil pointer evaluating interface {{}}.{name}")
    raise ExecutionFault(f"can't evaluate field {name} in type {kind(value)}")


def pairs(value: Value) -> Iterator[tuple[Value, Value]]:
    """What ``range`` walks over, as (index, element). Raises ``ExecutionFault``."""
    match value:
        case list() | tuple():
            return enumerate(value)
        case dict():
            return iter(sorted(value.items()))
        case int() if not isinstance(value, bool):
            return ((number, number) for number in range(value))
        case None | Absent():
            return iter(())
        case _:
            raise ExecutionFault(f"range can't iterate over {text(value)}")


def text(value: Value) -> str:
    """A value as it is printed by itself: ``<no value>`` for what is not there."""
    if isinstance(value, str):
        return value
    if value is None or value is ABSENT:
        return "<no value>"
    return inner_text(value)


def inner_text(value: Value) -> str:
    """A value as it is printed inside others and by functions: ``<nil>`` for what is not there."""
    match value:
        case str():
            return value
        case None | Absent():
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return prompt_json.general(value)
        case bytes():
            return f"[{' '.join(map(str, value))}]"
        case JsonList() | JsonMap():
            return json_text(value)
        case TypeNames() if len(value) < 2:
            return "".join(value)
        case Record():
            if value.shown is not None:
                return prompt_json.compact(value.shown())
            return f"{{{' '.join(map(inner_text, value.fields.values()))}}}"
        case dict():
            members = (f"{name}:{inner_text(member)}" for name, member in sorted(value.items()))
            return f"map[{' '.join(members)}]"
        case _:
            return f"[{' '.join(map(inner_text, value))}]"


def operand_text(value: Value) -> str:
    """A value as ``print`` and ``printf`` write it: the pointer to a message shows."""
    return f"&{inner_text(value)}" if is_pointer(value) else inner_text(value)


def is_pointer(value: Value) -> bool:
    """Whether templates hold a value by a pointer to it."""
    return isinstance(value, Record) and value.kind == MESSAGE


def json_text(value: Value) -> str:
    """A value as compact JSON."""
    return prompt_json.compact(plain(value))


def plain(value: Value) -> Any:
    """A value as plain JSON values, maps in the order of their keys."""
    match value:
        case None | Absent() | NilList():
            return None
        case Record():
            return value.json()
        case dict():
            return {name: plain(value[name]) for name in sorted(value)}
        case TypeNames() if len(value) == 1:
            return value[0]
        case list() | tuple():
            return [plain(member) for member in value]
        case _:
            return value
