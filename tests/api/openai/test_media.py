"""Images, sounds and films that come inside messages."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from orchestrator.api.openai.media import InvalidVideo
from orchestrator.api.openai.messages import InvalidPart, to_messages
from orchestrator.wire import openai as wire

FILM = b"\0\0\0\x18ftypmp42 a film"
ENCODED = b64encode(FILM).decode()


def images_of(part: dict[str, Any]) -> tuple[bytes, ...]:
    (message,) = to_messages([wire.ChatMessage.model_validate({"role": "user", "content": [part]})])
    return message.images


@pytest.mark.parametrize(
    "part",
    [
        {"type": "video_url", "video_url": {"url": f"data:video/mp4;base64,{ENCODED}"}},
        {"type": "video_url", "video_url": f"data:;base64,{ENCODED}"},
        {"type": "input_video", "input_video": {"data": ENCODED}},
        {
            "type": "input_video",
            "input_video": {"data": f"data:video/webm;base64,{ENCODED[:8]}\n{ENCODED[8:]}"},
        },
        {"type": "input_video", "input_video": {"url": f"data:video/mp4;base64,{ENCODED}"}},
    ],
)
def test_a_film_comes_along_as_base64(part: dict[str, Any]) -> None:
    assert images_of(part) == (FILM,)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/a.mp4",
        "https://example.org/a,b",
        "file:///tmp/a.mp4",
        f"data:image/png;base64,{ENCODED}",
        f"data:video/mp4,{ENCODED}",
        "data:video/mp4;base64,@@@",
    ],
)
@pytest.mark.parametrize("kind", ["video_url", "input_video"])
def test_nothing_is_fetched_and_nothing_else_is_taken_for_a_film(kind: str, url: str) -> None:
    with pytest.raises(InvalidVideo):
        images_of({"type": kind, kind: {"url": url}})


@pytest.mark.parametrize("part", [{"type": "video_url"}, {"type": "input_video", "input_video": {"data": 5}}])
def test_a_part_without_a_film_is_malformed(part: dict[str, Any]) -> None:
    with pytest.raises(InvalidPart):
        images_of(part)
