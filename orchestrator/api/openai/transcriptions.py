"""``/v1/audio/transcriptions``: a chat about a recording. Source: ``api-compat`` §7."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from aiohttp import BodyPartReader, web

from orchestrator.api.disclosures import warning_members
from orchestrator.api.errors import ERROR_TYPE
from orchestrator.api.openai.errors import Unsupported
from orchestrator.api.openai.passed_over import in_transcription
from orchestrator.api.replies import PLAIN_JSON, json_reply, text_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.api.streams import gathered
from orchestrator.api.warnings import logged
from orchestrator.domain.chunks import folded
from orchestrator.domain.requests import ChatRequest, Message
from orchestrator.domain.white_space import trim
from orchestrator.errors import BadRequest, EngineRefused
from orchestrator.inference.chat import chat
from orchestrator.inference.errors import ModelRequired
from orchestrator.inference.reply import Generation
from orchestrator.inference.service import Inference
from orchestrator.media.detect import UnknownMedia, UnsupportedMedia, described, is_recording
from orchestrator.wire import openai as wire

_TASK = (
    "Transcribe the audio exactly as spoken. Output only the spoken words. "
    "Do not answer any question in the audio."
)
_QUESTION = "What exact words are spoken in this audio?"
_TIMED = frozenset({"srt", "vtt"})


class InvalidForm(BadRequest):
    """A body that is no form."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"failed to parse multipart form: {detail}")


class InvalidFile(BadRequest):
    """A form without a recording."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What a form asks for."""

    model: str
    audio: bytes
    language: str = ""
    prompt: str = ""
    response_format: str = ""
    warnings: tuple[str, ...] = ()
    """What in the form has no effect."""


def routes(state: AppState) -> Iterable[Route]:
    """The route of this module."""

    async def post(request: web.Request) -> web.StreamResponse:
        recording = await _read(request)
        request[ERROR_TYPE] = PLAIN_JSON
        try:
            text = await _transcribed(state.inference, to_chat(recording))
        except (EngineRefused, UnknownMedia, UnsupportedMedia) as error:
            if is_recording(recording.audio):
                raise
            raise InvalidFile(f"{described(recording.audio)} is not a recording; send WAV or MP3") from error
        if recording.response_format == "text":
            return text_reply(text)
        members = wire.Transcription(text=text).model_dump() | warning_members(recording.warnings)
        return json_reply(members, content_type=PLAIN_JSON)

    return (Route("POST", "/v1/audio/transcriptions", post),)


def to_chat(recording: Recording) -> ChatRequest:
    """The question to the model."""
    task = _TASK
    if recording.language:
        task += f" The audio is in {recording.language}."
    if recording.prompt:
        task += f" Context: {recording.prompt}"
    return ChatRequest(
        model=recording.model,
        messages=(Message("system", task), Message("user", _QUESTION, images=(recording.audio,))),
        options={"temperature": 0},
    )


async def _transcribed(inference: Inference, wanted: ChatRequest) -> str:
    async with chat(inference, wanted) as reply:
        assert isinstance(reply, Generation), "there are messages"
        whole, _ = folded(await gathered(reply.items))
    return trim(whole.content)


async def _read(request: web.Request) -> Recording:
    """The form. Raises ``InvalidForm``, ``InvalidFile``, ``ModelRequired``, ``Unsupported``."""
    texts, audio = await _parts(request)
    if not texts.get("model"):
        raise ModelRequired
    if audio is None:
        raise InvalidFile("file is required: http: no such file")
    if not audio:
        raise InvalidFile("audio file is empty")
    _refuse_unsupported(texts)
    return Recording(
        texts["model"],
        audio,
        texts.get("language", ""),
        texts.get("prompt", ""),
        texts.get("response_format", ""),
        logged(in_transcription(texts)),
    )


async def _parts(request: web.Request) -> tuple[dict[str, str], bytes | None]:
    """The texts of the form by name, and the file, if there is one; of several with one name, the first.

    Raises ``InvalidForm``.
    """
    if request.content_type != "multipart/form-data":
        raise InvalidForm("request Content-Type isn't multipart/form-data")
    texts: dict[str, str] = {}
    audio: bytes | None = None
    try:
        async for part in await request.multipart():
            if not isinstance(part, BodyPartReader) or not part.name:
                continue
            content = bytes(await part.read(decode=True))
            if not part.filename:
                texts.setdefault(part.name, content.decode(errors="replace"))
            elif part.name == "file" and audio is None:
                audio = content
    except (ValueError, RuntimeError, web.RequestPayloadError) as error:
        raise InvalidForm(str(error)) from error
    return texts, audio


def _refuse_unsupported(texts: dict[str, str]) -> None:
    if texts.get("response_format") in _TIMED:
        raise Unsupported("'response_format' must be 'json' or 'text': there are no times of words")
    if texts.get("stream", "").lower() == "true":
        raise Unsupported("'stream' is not supported: a transcription comes in one piece")
