"""The table of commands."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

from orchestrator.cli.commands import COMMANDS, Count, Entry, distance, find, unknown, visible
from orchestrator.cli.grammar import UsageError


@pytest.mark.parametrize("entry", [pytest.param(entry, id=entry.name) for entry in COMMANDS])
def test_the_function_of_a_command_takes_its_flags_and_words(entry: Entry) -> None:
    module, _, name = entry.code.partition(":")
    function = getattr(import_module(f"orchestrator.cli.{module}"), name)
    parameters = inspect.signature(function).parameters.values()
    named = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}
    assert named == {flag.name.replace("-", "_") for flag in entry.flags} - {"help"}
    words = [each for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    takes_any = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    assert takes_any == (entry.count.most is None)
    assert len(words) <= (entry.count.most or entry.count.least)


def test_an_alias_means_its_command() -> None:
    assert find("ls") is find("list")
    assert find("nosuch") is None


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("lst", ["list", "ps"]),
        ("pul", ["run", "pull", "push", "ps"]),
        ("PS", ["push", "ps", "cp", "rm"]),
        ("versionitis", []),
    ],
)
def test_commands_that_look_alike_are_offered_in_their_order(typed: str, near: list[str]) -> None:
    text = str(unknown(typed))
    offered = "\n\nDid you mean this?\n" + "".join(f"\t{name}\n" for name in near) if near else ""
    assert text == f'unknown command "{typed}" for "orch"{offered}'


def test_hidden_commands_are_not_offered() -> None:
    assert not {"login", "logout"} & {entry.name for entry in visible()}


@pytest.mark.parametrize(("one", "other", "edits"), [("", "ab", 2), ("ps", "cp", 2), ("list", "lst", 1)])
def test_distance_counts_edits(one: str, other: str, edits: int) -> None:
    assert distance(one, other) == distance(other, one) == edits


@pytest.mark.parametrize(
    ("count", "words", "complaint"),
    [
        (Count(1, 1), [], "accepts 1 arg(s), received 0"),
        (Count(0, 0), ["x"], "accepts 0 arg(s), received 1"),
        (Count(1, None), [], "requires at least 1 arg(s), only received 0"),
    ],
)
def test_a_wrong_number_of_words_is_told(count: Count, words: list[str], complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        count.check(words)
    assert str(caught.value) == complaint


def test_the_right_number_of_words_passes() -> None:
    Count(0, None).check(["a", "b"])
    Count(2, 2).check(["a", "b"])
