"""The base of wire models: how a JSON object is matched to fields, and how empty fields are left out.

Names of fields match whatever their case, a ``null`` is as good as nothing, unknown keys are passed over.
Types are strict: an integer is a number written without fraction and exponent, ``"1"`` is no number, ``1``
no Boolean.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, ClassVar, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from orchestrator.wire.complaints import complaint
from orchestrator.wire.errors import InvalidBody, MissingBody
from orchestrator.wire.json import dumps, loads

logger = logging.getLogger(__name__)

T = TypeVar("T")
M = TypeVar("M", bound="Wire")


class Mark(Enum):
    """What is special about a field, beyond its type."""

    OMIT_EMPTY = "not written when false, zero or empty"
    OMIT_NONE = "not written when None"
    OMIT_UNSET = "not written when it was not given; a null is kept"
    NULLABLE = "a null is a value of its own"


OmitEmpty = Annotated[T, Mark.OMIT_EMPTY]
OmitNone = Annotated[T, Mark.OMIT_NONE]
OmitUnset = Annotated[T, Mark.OMIT_UNSET]
Nullable = Annotated[T, Mark.NULLABLE]


class Wire(BaseModel):
    """One JSON object of a peer, field for field."""

    model_config = ConfigDict(
        strict=True,
        extra="ignore",
        frozen=True,
        serialize_by_alias=True,
        validate_by_name=True,
        defer_build=True,  # a schema costs time and memory; most commands need none, a daemon few
    )

    known_names: ClassVar[frozenset[str]] = frozenset()
    _spellings: ClassVar[Mapping[str, str]] = {}
    _keeps_null: ClassVar[frozenset[str]] = frozenset()
    _omissions: ClassVar[tuple[tuple[str, str, Mark], ...]] = ()
    _parts: ClassVar[Mapping[str, type[Wire]]] = {}

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        marked = [
            (name, field.alias or name, mark)
            for name, field in cls.model_fields.items()
            for mark in field.metadata
            if isinstance(mark, Mark)
        ]
        names = [field.alias or name for name, field in cls.model_fields.items()]
        cls.known_names = frozenset(names)
        cls._spellings = {name.casefold(): name for name in names}
        cls._keeps_null = frozenset(
            alias for _, alias, mark in marked if mark in (Mark.NULLABLE, Mark.OMIT_UNSET)
        )
        cls._omissions = tuple(entry for entry in marked if entry[2] is not Mark.NULLABLE)
        parts = ((field.alias or name, _part(field.annotation)) for name, field in cls.model_fields.items())
        cls._parts = {name: part for name, part in parts if part is not None}

    @model_validator(mode="before")
    @classmethod
    def _match_names(cls, value: Any) -> Any:
        if value is None:
            return {}
        if type(value) is not dict or (value.keys() <= cls.known_names and None not in value.values()):
            return value
        members: dict[str, Any] = {}
        for key, item in value.items():
            name = key if key in cls.known_names else cls._spellings.get(key.casefold(), key)
            if item is not None or name in cls._keeps_null:
                members[name] = item
        return members

    @model_serializer(mode="wrap")
    def _leave_out(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        members: dict[str, Any] = handler(self)
        for name, alias, mark in self._omissions:
            match mark:
                case Mark.OMIT_EMPTY:
                    drop = not members[alias]
                case Mark.OMIT_NONE:
                    drop = members[alias] is None
                case _:
                    drop = name not in self.model_fields_set
            if drop:
                del members[alias]
        return members


def _part(annotation: Any) -> type[Wire] | None:
    """The wire model that a field holds or is a list of."""
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        return annotation
    return next(filter(None, map(_part, get_args(annotation))), None)


def decode_body(raw: bytes, model: type[M]) -> tuple[M, tuple[str, ...]]:
    """The request in ``raw``, and the keys in it that nobody knows; the log is told of them too.

    Raises ``MissingBody``, ``MalformedJson`` or ``InvalidBody``.
    """
    if not raw or raw.isspace():
        raise MissingBody
    value = loads(raw)
    unknown = unknown_keys(value, model)
    if unknown:
        logger.warning(
            "unknown keys in request ignored: %s", ", ".join(unknown), extra={"request": model.__name__}
        )
    return decode(value, model), unknown


def unknown_keys(value: Any, model: type[Wire]) -> tuple[str, ...]:
    """Keys that are no fields of ``model``, those of the objects right in it too: ``messages[0].text``."""
    if type(value) is not dict:
        return ()
    parts = [
        (f"{name}[{index}].", item, part)
        for name, part in model._parts.items()
        if type(items := value.get(name)) is list
        for index, item in enumerate(items)
        if type(item) is dict
    ]
    return tuple(
        f"{path}{key}"
        for path, item, kind in [("", value, model), *parts]
        if not item.keys() <= kind.known_names
        for key in item
        if key.casefold() not in kind._spellings
    )


def decode(value: Any, model: type[M]) -> M:
    """A JSON value as ``model``. Raises ``InvalidBody``."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise InvalidBody(f"invalid request: {complaint(error)}") from error


def encode(value: Wire) -> bytes:
    """``value`` as compact JSON, empty members left out where the peer leaves them out."""
    return dumps(value.model_dump())
