"""JSON as the store writes it: the bytes that existing stores hold."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import BadRequest
from orchestrator.store.canonical import canonical_json, free_form
from orchestrator.store.wire import ModelConfig

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("value", "sha256"),
    [
        (
            {"temperature": 1.0, "stop": ["USER:", "ASSISTANT:"], "top_k": 10},
            "1d0ad71299d48c2fb7ae2b98e683643e771f8a5b72be34942af90d97a91c1e37",
        ),
        (
            {"top_p": 0.7, "top_k": 10, "temperature": 0.6, "stop": ["<|endoftext|>"]},
            "12f58bb75cb3042d69a7e013ab87fb3c3c7088f50ddc62f0c77bd332f0d44d35",
        ),
    ],
)
def test_parameters_have_the_digest_they_have_everywhere(value: Any, sha256: str) -> None:
    assert hashlib.sha256(canonical_json(free_form(value))).hexdigest() == sha256


def test_a_configuration_has_the_digest_it_has_everywhere() -> None:
    config = ModelConfig(
        model_format="gguf",
        model_family="test",
        model_families=("test",),
        model_type="0",
        file_type="unknown",
    )
    digest = hashlib.sha256(canonical_json(config.to_json())).hexdigest()
    assert digest == "99759ad5b91e723db0393d698ffbb448b1b7df5ff6377a108c49254583b1bc8c"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "-0"),
        (0.1, "0.1"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e-12, "1.5e-12"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (12345678901, "12345678901"),
        ("<a&b>\u2028\u2029", '"\\u003ca\\u0026b\\u003e\\u2028\\u2029"'),
        ("é\t\"\\", '"é\\t\\"\\\\"'),
        ({"b": [], "a": {}}, '{"b":[],"a":{}}'),
    ],
)  # fmt: skip
def test_values_are_written_in_one_way(value: Any, text: str) -> None:
    assert canonical_json(value).decode() == text + "\n"


def test_large_integers_of_free_form_values_pass_through_doubles() -> None:
    assert canonical_json(free_form({"seed": 12345678901234567890})) == b'{"seed":12345678901234567000}\n'


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_a_number_that_no_double_holds_is_refused(value: int) -> None:
    with pytest.raises(BadRequest, match=r"^number -?10{18,19}… is out of range$"):
        free_form({"stop": [{"seed": value}]})


@given(JSON)
def test_what_is_written_reads_back_equal(value: Any) -> None:
    assert json.loads(canonical_json(value), parse_int=float) == value


@given(JSON)
def test_the_order_of_keys_does_not_change_a_free_form_value(value: Any) -> None:
    assert canonical_json(free_form(value)) == canonical_json(free_form(_reversed(value)))


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(item) for key, item in reversed(value.items())}
    return [_reversed(item) for item in value] if isinstance(value, list) else value
