"""The inside of glm's calls."""

from __future__ import annotations

import pytest

from orchestrator.parsers.glm_elements import Elements, read_elements, repaired


def tags(text: str) -> str:
    """``k`` and ``v`` stand for the tags."""
    for short, tag in (("k", "arg_key"), ("v", "arg_value")):
        text = text.replace(f"<{short}>", f"<{tag}>").replace(f"</{short}>", f"</{tag}>")
    return text


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("f\n<k>a</k>\n<v>1\r\n2\r</v>", Elements("f", ["a"], ["1\n2\n"])),
        ("f<k>a</k><k> b </k><v>1</v><v>2</v> g", Elements("f g", ["a", "b"], ["1", "2"])),
        ("f<k>a</k>", Elements("f", ["a"], [])),
        ("f<k>a<v>1</v></k>", Elements("f", ["a"], [])),
        ("f", Elements("f", [], [])),
        ("f<k>a<v>1</v>", None),
        ("f</k>", None),
        ("f<k>a</v>", None),
    ],
)
def test_elements_are_read_if_their_tags_nest(text: str, elements: Elements | None) -> None:
    assert read_elements(tags(text)) == elements


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("f<k>a<v>5</v>", "f<k>a</k><v>5</v>"),
        ("f</k>hello</v>", "f<k></k><v>hello</v>"),
        ("f a</k><v>1</v>", "f<k>a</k><v>1</v>"),
        ("f hello</v>", "f<k>hello</k><v></v>"),
        ("f<k>a</k>1</v>", "f<k>a</k><v>1</v>"),
        ("f<k>a</k><v>1<k>b</k><v>2</v>", "f<k>a</k><v>1</v><k>b</k><v>2</v>"),
        ("f<k>a</k><v>1", "f<k>a</k><v>1</v>"),
        ("f<k>a", "f<k>a</k><v></v>"),
        ("f<k>a</k><v>1</v><k>b<v>2</v> end", "f<k>a</k><v>1</v><k>b</k><v>2</v>"),
        ("f<v>1</v>", "f<k></k><v>1</v>"),
        ("f", "f"),
    ],
)
def test_missing_tags_are_put_in(text: str, whole: str) -> None:
    assert repaired(tags(text)) == tags(whole)
