"""Kinds of fields that JSON has no type for: how they are read, checked and written.

Source: ``api-native`` §1.
"""

from __future__ import annotations

import base64
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, PlainValidator

from orchestrator.domain.base64_text import decode_base64
from orchestrator.domain.durations import MAX_NS, KeepAlive
from orchestrator.domain.options import float32
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool, parse_tools, tool_json


def _read_base64(value: Any) -> Any:
    """Bytes of padded base64, line ends in it skipped; a data URL stands for what it holds (case B147).

    A null is no bytes, as every element of a list that is null is empty.
    """
    if value is None:
        return b""
    if not isinstance(value, str):
        return value
    text = value.partition(",")[2] if value.startswith("data:") else value
    return decode_base64(text)


def _write_base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _within_single_precision(value: float) -> float:
    rounded = float32(value)
    if abs(rounded) == float("inf"):
        raise ValueError(f"{value} is out of the range of single precision")
    return rounded


def shortest_single(value: float) -> float:
    """The number with the fewest digits that is ``value`` in single precision."""
    for digits in range(1, 9):
        short = float(f"{value:.{digits}g}")
        if float32(short) == value:
            return short
    return float(f"{value:.9g}")


def _think_json(value: Think | None) -> bool | str | None:
    return None if value is None else value.json


def _read_keep_alive(value: Any) -> KeepAlive | None:
    """Raises ``InvalidDuration``. An empty text is none: clients send unset fields so (case B091)."""
    return None if value == "" else KeepAlive.parse(value)


def _keep_alive_json(value: KeepAlive | None) -> int | str | None:
    return None if value is None else -1 if value.is_forever else str(value)


def _tools_json(value: tuple[Tool, ...]) -> list[dict[str, Any]]:
    return [tool_json(tool) for tool in value]


Int = Annotated[int, Field(ge=-MAX_NS - 1, le=MAX_NS)]
TextElement = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
IntElement = Annotated[Int, BeforeValidator(lambda value: 0 if value is None else value)]
"""An element of a list: a null is the empty value of its kind, as in Go."""
Base64 = Annotated[bytes, BeforeValidator(_read_base64), PlainSerializer(_write_base64)]
Single = Annotated[float, AfterValidator(_within_single_precision), PlainSerializer(shortest_single)]
ThinkField = Annotated[Think | None, PlainValidator(Think.parse), PlainSerializer(_think_json)]
KeepAliveField = Annotated[
    KeepAlive | None, PlainValidator(_read_keep_alive), PlainSerializer(_keep_alive_json)
]
ToolsField = Annotated[tuple[Tool, ...], PlainValidator(parse_tools), PlainSerializer(_tools_json)]
