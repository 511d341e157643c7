"""Names of tools in harmony's prompts: spec §6.5."""

from __future__ import annotations

import pytest

from orchestrator.parsers.harmony import HarmonyParser
from orchestrator.parsers.harmony_names import prompt_names
from tests.golden_records import Record, records
from tests.parsers.recorded import tools_of


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (["get weather", "get_weather", "get-weather"], ["get_weather", "get_weather_2", "get_weather_3"]),
        (["123", "a🫠bc", "!!!", "🫠"], ["_123", "abc", "unnamed", "unnamed_2"]),
        (["not.a.built-in", "browser.open", "python"], ["not_a_built_in", "browser.open", "python"]),
        (["größe", "数える", "٣x", "²y", "$a"], ["größe", "数える", "٣x", "y", "$a"]),
    ],
)  # fmt: skip
def test_names_become_identifiers(given: list[str], names: list[str]) -> None:
    assert prompt_names(given) == names


@pytest.mark.parametrize(
    "record", [pytest.param(record, id=record["id"]) for record in records("parsers/harmony.jsonl")]
)
def test_the_prompt_names_tools_as_recorded(record: Record) -> None:
    tools = HarmonyParser().start(tools_of(record), None, None)
    assert [tool.function.name for tool in tools] == record["tool_names"]
