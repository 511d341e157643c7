"""What is told about a model."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.cli import card
from orchestrator.client.wire import ModelCard


def test_known_facts_are_rows_and_unknown_ones_are_left_out() -> None:
    found: ModelCard = {
        "details": {"parameter_size": "8.0B", "quantization_level": "Q4_K_M"},
        "model_info": {"general.architecture": "llama", "llama.context_length": 131072},
        "capabilities": ["completion", "tools"],
        "requires": "0.14.0",
    }
    assert card.draw(found) == (
        "  Model\n"
        "    architecture      llama     \n"
        "    parameters        8.0B      \n"
        "    context length    131072    \n"
        "    quantization      Q4_K_M    \n"
        "    requires          0.14.0    \n"
        "\n"
        "  Capabilities\n"
        "    completion    \n"
        "    tools         \n"
        "\n"
    )


def test_a_count_stands_in_for_a_missing_size() -> None:
    found: ModelCard = {"model_info": {"general.architecture": "x", "general.parameter_count": 134515008}}
    assert "    parameters      134.52M    \n" in card.draw(found)


def test_a_remote_model_tells_where_it_is() -> None:
    text = card.draw({"remote_host": "https://far", "remote_model": "big", "details": {"family": "f"}})
    assert "    Remote model    big" in text
    assert "    Remote URL      https://far" in text
    assert "    architecture    f" in text


def test_a_projector_has_a_section() -> None:
    facts = {
        "general.architecture": "clip",
        "general.parameter_count": 600_000_000,
        "clip.vision.embedding_length": 1152,
        "clip.vision.projection_dim": 2560,
    }
    assert card.draw({"projector_info": facts}).endswith(
        "  Projector\n"
        "    architecture        clip    \n"
        "    parameters          600M    \n"
        "    embedding length    1152    \n"
        "    dimensions          2560    \n"
        "\n"
    )


def test_parameters_are_split_and_sorted_by_name() -> None:
    found: ModelCard = {"parameters": 'stop    "b"\ntop_p  0.5\nstop    "a c"\nseed 1'}
    assert card.parameter_lines(found) == ["seed 1", 'stop    "b"', 'stop    "a c"', "top_p  0.5"]
    assert '    stop     "a     c"    \n' in card.draw(found)


def test_long_texts_are_told_by_their_beginning() -> None:
    assert "  License\n    One    \n    Two    \n    ...    \n\n" in card.draw(
        {"license": "One\n\n Two\nThree"}
    )
    assert "  System\n    Be brief.    \n\n" in card.draw({"system": "Be brief."})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        ("text", "text"),
        (8_000_000_000, "8e+09"),
        (134515008, "1.34515008e+08"),
        (100000, "100000"),
        (1000000, "1e+06"),
        (1e-5, "1e-05"),
        (0.0001, "0.0001"),
        (0, "0"),
        (-2.5, "-2.5"),
        (49152, "49152"),
        (None, "<nil>"),
        ([], "[]"),
        (["en"], "[en]"),
        ([3, 3, 3, 3], "[3 3 3 ...+1 more]"),
        ([1000000, 2], "[1000000 ...+1 more]"),
        (["Ġ t", "Ġ a", "i n"], "[Ġ t Ġ a ...+1 more]"),
        (["<|endoftext|>", "x"], "[<|endoftext|> ...+1 more]"),
    ],
)
def test_metadata_is_written_as_go_writes_it(value: Any, text: str) -> None:
    assert f"    key    {text}    \n" in card.draw({"model_info": {"key": value}}, verbose=True)


def test_a_single_number_has_no_shape() -> None:
    found: ModelCard = {"tensors": [{"name": "scale", "type": "F32", "shape": None}]}
    assert "    scale    F32    []    \n" in card.draw(found, verbose=True)


def test_tensors_are_listed_with_their_shapes() -> None:
    found: ModelCard = {"tensors": [{"name": "token_embd.weight", "type": "Q8_0", "shape": [576, 49152]}]}
    assert "    token_embd.weight    Q8_0    [576 49152]    \n" in card.draw(found, verbose=True)
    assert "Tensors" not in card.draw(found)
