"""``[img-N]`` tags: they say in the text of a message where its images belong. Source: ``prompts`` §3.2."""

from __future__ import annotations

from collections.abc import Iterable

_PLACE = "[img]"


def image_tags(content: str, numbers: Iterable[int]) -> tuple[str, str]:
    """The tags that stand in front of a text, and the text with the others in it.

    A tag takes the place of the next literal ``[img]``; those left over stand in front.
    """
    tags = [f"[img-{number}]" for number in numbers]
    first, *others = content.split(_PLACE, len(tags)) if tags else [content]
    placed = "".join(tag + part for tag, part in zip(tags, others, strict=False))
    return "".join(tags[len(others) :]), first + placed
