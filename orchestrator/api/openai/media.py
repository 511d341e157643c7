"""Images, audio and video inside requests. They must come along: nothing is fetched from elsewhere.

Source: ``api-compat`` §2.2; ``multimodal`` §7.4.
"""

from __future__ import annotations

from typing import Any

from orchestrator.domain.base64_text import IllegalBase64, decode_base64
from orchestrator.errors import BadRequest

_PREFIXES = (
    "data:image/jpeg;base64,",
    "data:image/jpg;base64,",
    "data:image/png;base64,",
    "data:image/webp;base64,",
    "data:;base64,",
)


class RemoteImage(BadRequest):
    """An image to be fetched; a server that fetched what it is told to could be sent anywhere."""

    def __init__(self) -> None:
        super().__init__("image URLs are not currently supported, please use base64 encoded data instead")


class InvalidImage(BadRequest):
    """An image that is no data URL of a kind that is known."""

    def __init__(self) -> None:
        super().__init__("invalid image input")


class InvalidVideo(BadRequest):
    """A part of video that does not hold one."""

    def __init__(self) -> None:
        super().__init__("invalid video input: base64 encoded data is needed, as a data URL or by itself")


class InvalidAudio(BadRequest):
    """A part of audio that is malformed."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"invalid input_audio {detail}")


def image_bytes(url: str) -> bytes:
    """The image in a data URL. Raises ``RemoteImage``, ``InvalidImage``."""
    if url.startswith(("http://", "https://")):
        raise RemoteImage
    prefix = next((prefix for prefix in _PREFIXES if url.startswith(prefix)), None)
    if prefix is None:
        raise InvalidImage
    try:
        return decode_base64(url[len(prefix) :])
    except IllegalBase64 as error:
        raise InvalidImage from error


def video_bytes(url: str) -> bytes:
    """The film in a data URL, or in base64 without one. Raises ``InvalidVideo``."""
    head, comma, encoded = url.rpartition(",")
    if comma and not (head.startswith(("data:video/", "data:;")) and head.endswith(";base64")):
        raise InvalidVideo
    try:
        return decode_base64(encoded)
    except IllegalBase64 as error:
        raise InvalidVideo from error


def audio_bytes(audio: Any) -> bytes:
    """The sound of an ``input_audio`` object; its format is told from the bytes. Raises ``InvalidAudio``."""
    if not isinstance(audio, dict):
        raise InvalidAudio("format")
    data = audio.get("data")
    if not isinstance(data, str):
        raise InvalidAudio("format: missing data")
    try:
        return decode_base64(data)
    except IllegalBase64 as error:
        raise InvalidAudio(f"base64 data: {error}") from error
