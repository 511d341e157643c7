"""Images: told by their content, refused by name before anything is loaded."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import httpx
import pytest

from integration.cases.place import PLAIN, Place
from integration.toy import post, upload
from tests.gguf_builder import build_gguf


def png() -> bytes:
    """One red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(b"\0\xff\0\0")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.fixture
def seer(here: Place) -> str:
    """A model that can see."""
    projector = build_gguf({"general.architecture": "clip", "clip.has_vision_encoder": True})
    files = {"p.gguf": upload(here.server, projector)}
    return here.model("seer", template=PLAIN, more_files=files)


def ask(here: Place, route: str, model: str, image: Any) -> Any:
    if route == "chat":
        return here.chat(model, {"role": "user", "content": "what is it?", "images": [image]})
    return here.generate(model, images=[image])


# case B147
@pytest.mark.parametrize("prefix", ["", "data:image/png;base64,", "data:;base64,"])
@pytest.mark.parametrize("route", ["chat", "generate"])
def test_an_image_may_be_a_data_url(here: Place, seer: str, route: str, prefix: str) -> None:
    answer = ask(here, route, seer, prefix + encoded(png()))
    assert answer.status == 200, answer
    sent = here.calls("/completion")[0]["prompt"]
    assert sent["multimodal_data"] == [encoded(png())]


# case B149, case B150
@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b'<svg xmlns="http://www.w3.org/2000/svg"/>', "SVG"),
        (b'<?xml version="1.0"?>\n<svg/>', "SVG"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC"),
        (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1", "AVIF"),
        (b"not a picture at all, but photo.png", "text"),
        (b"%PDF-1.7\n", "PDF"),
        (b"PK\x03\x04" + bytes(30), "zip"),
        (bytes((7 * n * n + 3) % 251 + 1 for n in range(40)), "unknown"),
        (b"", "empty"),
    ],
)
@pytest.mark.parametrize("route", ["chat", "generate"])
def test_what_is_no_image_is_refused_by_what_it_is(
    here: Place, seer: str, route: str, data: bytes, name: str
) -> None:
    answer = ask(here, route, seer, encoded(data))
    assert answer.status == 400, answer
    assert name in answer.body["error"]
    assert not here.calls("/completion")


@pytest.mark.parametrize("route", ["chat", "generate"])
def test_an_image_that_claims_all_memory_never_reaches_the_engine(here: Place, seer: str, route: str) -> None:
    start, size = png()[:16], struct.pack(">II", 60_000, 60_000)
    answer = ask(here, route, seer, encoded(start + size + png()[24:]))
    assert answer.status == 400, answer
    assert "60000 x 60000 pixels" in answer.body["error"]
    assert not here.calls("/completion")


@pytest.mark.parametrize("route", ["chat", "generate"])
def test_a_film_is_handed_to_the_engine(here: Place, seer: str, route: str) -> None:
    film = b"\0\0\0\x18ftypmp42 and so on"
    assert ask(here, route, seer, encoded(film)).status == 200
    assert here.calls("/completion")[0]["prompt"]["multimodal_data"] == [encoded(film)]


# case B150
@pytest.mark.parametrize("image", ["@@@", "a", "data:image/png;base64,@", 5, None, {}])
def test_what_is_no_base64_is_refused(here: Place, seer: str, image: Any) -> None:
    body = {"model": seer, "messages": [{"role": "user", "content": "x", "images": [image]}], "stream": False}
    assert post(here.server, "/api/chat", body).status in ((200, 400) if image is None else (400,))


@pytest.mark.parametrize("model", ["plain", "seer"])
@pytest.mark.parametrize(
    ("data", "name"), [(b"notes, saved as a.wav", "plain text"), (b"%PDF-1.7\n", "a file of type")]
)
def test_a_file_that_is_no_recording_is_told_by_what_it_is(
    here: Place, seer: str, model: str, data: bytes, name: str
) -> None:
    here.model("plain", template=PLAIN)
    refusal = {"status": 400, "json": {"error": {"code": 400, "message": "Multimodal data provided, but …"}}}
    here.script(answers={"/completion": [refusal], "/v1/chat/completions": [refusal]})
    answer = httpx.post(
        f"http://{here.server.address}/v1/audio/transcriptions",
        data={"model": model},
        files={"file": ("a.wav", data)},
        timeout=60,
    )
    assert answer.status_code == 400
    message = answer.json()["error"]["message"]
    assert message.startswith(name)
    assert message.endswith(" is not a recording; send WAV or MP3")
