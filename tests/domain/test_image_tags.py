"""Tags of images in texts."""

from __future__ import annotations

import pytest

from orchestrator.domain.image_tags import image_tags


@pytest.mark.parametrize(
    ("content", "numbers", "tagged"),
    [
        ("Compare", range(2), ("[img-0][img-1]", "Compare")),
        ("[img] or [img]", range(2), ("", "[img-0] or [img-1]")),
        ("only [img]", range(3, 5), ("[img-4]", "only [img-3]")),
        ("[img] [img]", range(1), ("", "[img-0] [img]")),
        ("[img[img]]", range(1), ("", "[img[img-0]]")),
        ("[img]", range(0), ("", "[img]")),
        ("", range(1), ("[img-0]", "")),
    ],
)
def test_a_tag_takes_the_next_place_or_stands_in_front(
    content: str, numbers: range, tagged: tuple[str, str]
) -> None:
    assert image_tags(content, numbers) == tagged
