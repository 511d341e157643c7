"""Image tags by renderers."""

from __future__ import annotations

import pytest

from orchestrator.domain.requests import Message
from orchestrator.renderers import registry
from orchestrator.renderers.images import ImageTags

PICTURE = b"\x89PNG"


@pytest.mark.parametrize(
    ("content", "images", "tagged"),
    [
        ("describe this image", 2, "[img-0][img-1] describe this image"),
        ("compare [img]", 2, "[img-1] compare [img-0]"),
        ("[img] and [img]", 1, "[img-0] and [img]"),
        ("\nspaced", 1, "[img-0]\nspaced"),
        ("", 1, "[img-0]"),
        ("already [img-7]", 2, "already [img-7]"),
        ("[img]", 0, "[img]"),
    ],
)
def test_tags_take_the_places_or_stand_in_front(content: str, images: int, tagged: str) -> None:
    assert ImageTags().tagged(Message("user", content, images=(PICTURE,) * images)) == tagged


def test_images_of_a_text_with_tags_are_counted() -> None:
    tags = ImageTags()
    tags.tagged(Message("user", "[img-0]", images=(PICTURE,)))
    assert tags.tagged(Message("user", "", images=(PICTURE,))) == "[img-1]"


PLACING = [name for name in registry.names() if registry.make(name).places_images]


@pytest.mark.parametrize("name", [name for name in PLACING if name != "qwen3.8"])
def test_every_image_is_tagged_whoever_sent_it(name: str) -> None:
    messages = [
        Message("system", "s", images=(PICTURE,)),
        Message("user", "u", images=(PICTURE,)),
        Message("assistant", "a", images=(PICTURE,)),
        Message("user", "v", images=(PICTURE,)),
    ]
    prompt = registry.make(name).render(messages, (), None)
    assert [f"[img-{number}] {text}" in prompt for number, text in enumerate("suav")] == [True] * 4
