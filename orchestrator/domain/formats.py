"""Constraints on the output: any JSON object, or a JSON schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """Any JSON object (``"format": "json"``)."""


@dataclass(frozen=True, slots=True)
class SchemaFormat:
    """JSON that fits a schema; the order of the schema's keys is the client's."""

    schema: Mapping[str, Any]


OutputFormat = JsonFormat | SchemaFormat
