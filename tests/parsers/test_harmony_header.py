"""Headers of harmony."""

from __future__ import annotations

import pytest

from orchestrator.parsers.harmony_header import Header, looks_like_header, read_header


@pytest.mark.parametrize(
    ("text", "channel", "recipient"),
    [
        ("assistant<|channel|>commentary to=functions.f<|constrain|>json", "commentary", "functions.f"),
        ("assistant to=functions.f<|channel|>commentary <|constrain|>json", "commentary", "functions.f"),
        ("to=functions.f<|channel|>commentary", "commentary", "functions.f"),
        ("assistantto=functions.f<|channel|>commentary", "commentary", ""),
        ("assistant<|channel|>commentary <|constrain|>json to=f", "commentary", ""),
        ("assistant<|channel|>final<|constrain|>json", "final", ""),
        ("assistant\n<|channel|>final ", "final", ""),
        ("assistant", "", ""),
        ("", "", ""),
    ],
)
def test_a_header_says_channel_and_recipient(text: str, channel: str, recipient: str) -> None:
    assert read_header(text) == Header(channel, recipient)


@pytest.mark.parametrize(
    "text",
    ["", "assis", "assistant", "assistant<|cha", "assistant<|channel|>fin", "user to=f", "tool t",
     "assistant<|channel|>commentary to=functions.f <|constrain|>json", "assistant to=f code<|channel|>x",
     "functions.f to=assistant<|channel|>commentary", "assistant<|channel|>final <|mess"],
)  # fmt: skip
def test_a_header_cut_short_is_known(text: str) -> None:
    assert looks_like_header(text)


@pytest.mark.parametrize(
    "text", ["Hello", "assistant says", "assistant<|channel|>final and more", "<|channel|>", "assistant <b>"]
)
def test_other_text_is_no_header(text: str) -> None:
    assert not looks_like_header(text)
