"""The input items of Responses, read one by one. What is malformed is named by its place.

All items are read before any is understood (``conversation``), so that a fault of form is told before one of
sense, wherever they stand, as Ollama does. Source: ``api-compat`` §6.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from orchestrator.domain.quoting import quoted
from orchestrator.errors import BadRequest
from orchestrator.wire import responses as wire
from orchestrator.wire.errors import InvalidBody
from orchestrator.wire.model import Wire, decode

M = TypeVar("M", bound=Wire)

_MODELS: Mapping[str, type[Wire]] = {
    "message": wire.InputMessage,
    "reasoning": wire.InputReasoning,
    "function_call": wire.InputFunctionCall,
    "function_call_output": wire.InputFunctionCallOutput,
    "web_search_call": wire.InputWebSearchCall,
}
_PARTS = frozenset({"input_text", "output_text", "input_image", "input_file"})


class InvalidItem(BadRequest):
    """An input item that is malformed, or of a kind nobody knows."""


@dataclass(frozen=True, slots=True)
class Item:
    """One input item: as it was sent, and the parts of its content where it has some."""

    given: Wire
    parts: tuple[wire.InputPart, ...] = ()


def read_item(index: int, value: Any) -> Item:
    """The item at that place of the input. Raises ``InvalidItem``."""
    where = f"input[{index}]: "
    given = _decoded(where, value, _model(where, value))
    match given:
        case wire.InputMessage(content=content):
            return Item(given, _parts(where, "content", content))
        case wire.InputFunctionCallOutput(output=output):
            return Item(given, _parts(where, "output", output))
        case _:
            return Item(given)


def _model(where: str, value: Any) -> type[Wire]:
    told = _decoded(where, value, wire.InputKind)
    kind = told.type or ("message" if told.role else "")
    if not kind:
        raise InvalidItem(f"{where}input item missing required 'type' field")
    if kind not in _MODELS:
        raise InvalidItem(f"{where}unknown input item type: {quoted(kind)}")
    return _MODELS[kind]


def _parts(where: str, name: str, content: Any) -> tuple[wire.InputPart, ...]:
    match content:
        case None:
            return ()
        case str():
            return (wire.InputPart(type="input_text", text=content),)
        case list():
            return tuple(_part(f"{where}{name}[{index}]: ", part) for index, part in enumerate(content))
        case _:
            raise InvalidItem(f"{where}{name} must be a string or array")


def _part(where: str, value: Any) -> wire.InputPart:
    part = _decoded(where, value, wire.InputPart)
    if part.type not in _PARTS:
        raise InvalidItem(f"{where}unknown content type: {part.type}")
    return part


def _decoded(where: str, value: Any, model: type[M]) -> M:
    try:
        return decode(value, model)
    except InvalidBody as error:
        raise InvalidItem(f"{where}{error}") from error
