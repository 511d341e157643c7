"""Every request that is refused is refused in words for people, not in those of Python or its packages."""

from __future__ import annotations

import re
from typing import Any

import pytest

from orchestrator.errors import BadRequest
from orchestrator.wire import anthropic, native, openai, rerank, responses
from orchestrator.wire.json import MalformedJson, loads
from orchestrator.wire.model import Wire, decode

MODELS = [
    model
    for module in (anthropic, native, openai, rerank, responses)
    for model in vars(module).values()
    if isinstance(model, type) and issubclass(model, Wire) and model.__module__ == module.__name__
]
ODD: list[Any] = [
    5,
    -1,
    1.5,
    10**25,
    10**3999,
    1e300,
    "banana",
    "\ud800",
    True,
    [5],
    [None],
    ["\ud800"],
    [[]],
    {"a": 5},
    [{"a": 5}],
    {"a": {"b": [5]}},
]
LEAKS = re.compile(
    r"Value error|Assertion|Input should|pydantic|set_int_max|Traceback|NoneType|valid bytes"
    r"|\b(int|str|dict|tuple|None)\b|binascii|codec|object at 0x|<class"
)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.__module__}.{model.__name__}")
def test_a_value_of_a_wrong_kind_is_refused_in_words_for_people(model: type[Wire]) -> None:
    for name in sorted(model.known_names):
        for value in ODD:
            try:
                decode({name: value}, model)
            except BadRequest as error:
                text = str(error)
            else:
                continue
            assert not LEAKS.search(text), (name, value, text)
            assert len(text) < 400, (name, text)


@pytest.mark.parametrize("text", [b"9" * 5000, b"-" + b"9" * 5000, b"9" * 5000 + b".5", b"[1e9999]", b"NaN"])
def test_a_number_that_nobody_can_mean_is_refused_briefly(text: bytes) -> None:
    with pytest.raises(MalformedJson) as caught:
        loads(text)
    assert not LEAKS.search(str(caught.value))
    assert len(str(caught.value)) < 100
