"""Flags on the command line."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.grammar import Flag, Kind, UsageError, Value, command_word, read, switch

FLAGS = (
    switch("all", "", short="a"),
    switch("brief", "", short="b"),
    Flag("file", Kind.TEXT, "", short="f"),
    Flag("count", Kind.NUMBER, ""),
    Flag("think", Kind.TEXT, "", bare="true"),
)


@pytest.mark.parametrize(
    ("arguments", "values", "words"),
    [
        ([], {}, []),
        (["one", "--all", "two"], {"all": True}, ["one", "two"]),
        (["--file", "x", "one"], {"file": "x"}, ["one"]),
        (["--file=x=y"], {"file": "x=y"}, []),
        (["--file="], {"file": ""}, []),
        (["-f", "x"], {"file": "x"}, []),
        (["-fx"], {"file": "x"}, []),
        (["-f=x"], {"file": "x"}, []),
        (["-f="], {"file": "="}, []),
        (["-abf", "x"], {"all": True, "brief": True, "file": "x"}, []),
        (["--all=false"], {"all": False}, []),
        (["--all", "false"], {"all": True}, ["false"]),
        (["--think", "high"], {"think": "true"}, ["high"]),
        (["--think=high"], {"think": "high"}, []),
        (["--count=-4"], {"count": -4}, []),
        (["--file", "--all"], {"file": "--all"}, []),
        (["one", "--", "--all", "--"], {}, ["one", "--all", "--"]),
        (["-", "one"], {}, ["-", "one"]),
        (["--file=x", "--file=y"], {"file": "y"}, []),
    ],
)
def test_a_line_is_taken_apart(arguments: list[str], values: Mapping[str, Value], words: list[str]) -> None:
    line = read(arguments, FLAGS)
    assert (line.values, line.words) == (values, words)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--nosuch"], "unknown flag: --nosuch"),
        (["--nosuch=1"], "unknown flag: --nosuch"),
        (["--al"], "unknown flag: --al"),
        (["-z"], "unknown shorthand flag: 'z' in -z"),
        (["-all"], "unknown shorthand flag: 'l' in -ll"),
        (["-a="], "unknown shorthand flag: '=' in -="),
        (["--file"], "flag needs an argument: --file"),
        (["-af"], "flag needs an argument: 'f' in -f"),
        (['--all=a"b\\\n'], r'invalid argument "a\"b\\\n" for "-a, --all" flag: neither true nor false'),
        (["--all=perhaps"], 'invalid argument "perhaps" for "-a, --all" flag: neither true nor false'),
        *(
            ([f"--count={text}"], f'invalid argument "{text}" for "--count" flag: not a whole number')
            for text in ("x", "", " 1", "1.0", "1_0", "٣", "9" * 5000)
        ),
        (["--=x"], "bad flag syntax: --=x"),
        (["---all"], "bad flag syntax: ---all"),
    ],
)
def test_the_first_mistake_is_told(arguments: list[str], complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(arguments, FLAGS)
    assert str(caught.value) == complaint


@given(st.lists(st.text(max_size=6), max_size=6))
def test_any_words_after_the_dashes_stay_words(words: list[str]) -> None:
    assert read(["--all", "--", *words], FLAGS).words == words


@given(
    st.lists(
        st.sampled_from(["-a", "--", "--file", "-fx", "--think=", "x", "-", "--all=1", "---"]), max_size=8
    )
)
def test_every_line_is_read_or_complained_about(arguments: list[str]) -> None:
    try:
        line = read(arguments, FLAGS)
    except UsageError:
        return
    assert len(line.words) <= len(arguments)


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ([], None),
        (["-a"], None),
        (["run"], 0),
        (["-a", "--brief", "run"], 2),
        (["--nosuch", "run"], None),
        (["--nosuch=1", "run"], 1),
        (["-f", "run", "x"], 2),
        (["--", "run"], None),
    ],
)
def test_the_command_is_the_first_word_no_flag_takes(arguments: list[str], place: int | None) -> None:
    assert command_word(arguments, FLAGS) == place
