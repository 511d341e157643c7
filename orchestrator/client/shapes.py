"""Holding answers to the shapes that ``client.wire`` gives them: servers of others may say anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import UnionType
from typing import Any, Required, TypeVar, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from orchestrator.client.errors import UnreadableReply

T = TypeVar("T")

_WORDS: Mapping[Any, str] = {str: "a text", bool: "true or false", int: "a number", float: "a number"}


def shaped(record: Mapping[str, Any], kind: type[T]) -> T:
    """``record`` as ``kind``, a ``TypedDict``. Raises ``UnreadableReply`` for a member of another type.

    Unknown members may be anything; a null is as good as an absent one.
    """
    for complaint in _faults(record, kind, ""):
        raise UnreadableReply(complaint)
    return cast(T, record)


def _faults(value: Any, kind: Any, path: str) -> Iterator[str]:
    if value is None or kind is Any:
        return
    if is_typeddict(kind):
        yield from _object_faults(value, kind, path)
    elif get_origin(kind) in (Union, UnionType):
        found = [list(_faults(value, part, path)) for part in get_args(kind) if part is not type(None)]
        if all(found):
            yield found[0][0]
    elif get_origin(kind) is list:
        if not isinstance(value, list):
            yield _wrong(path, "a list")
            return
        (item,) = get_args(kind)
        for index, element in enumerate(value):
            yield from _faults(element, item, f"{path}[{index}]")
    elif get_origin(kind) is dict:
        if not isinstance(value, Mapping):
            yield _wrong(path, "an object")
    elif not _is_one(value, kind):
        yield _wrong(path, _WORDS[kind])


def _object_faults(value: Any, kind: Any, path: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield _wrong(path, "an object")
        return
    for name, (member, is_required) in _members(kind).items():
        where = f"{path}.{name}".lstrip(".")
        if is_required and value.get(name) is None:
            yield f"{where} is missing"
        yield from _faults(value.get(name), member, where)


def _is_one(value: Any, kind: Any) -> bool:
    if kind in (int, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind)


def _wrong(path: str, wanted: str) -> str:
    return f"{path} is not {wanted}"


@cache
def _members(kind: Any) -> Mapping[str, tuple[Any, bool]]:
    """The types of the members, by name, and whether they have to be there.

    ``__required_keys__`` does not see ``Required`` in annotations that are read late.
    """
    marked = get_type_hints(kind, include_extras=True)
    return {
        name: (member, name in kind.__required_keys__ or get_origin(marked[name]) is Required)
        for name, member in get_type_hints(kind).items()
    }
