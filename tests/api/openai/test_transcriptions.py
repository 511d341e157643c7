"""Recordings as questions to a model."""

from __future__ import annotations

from orchestrator.api.openai.transcriptions import Recording, to_chat


def test_the_recording_goes_along_with_the_question() -> None:
    request = to_chat(Recording("m", b"RIFF"))
    task, question = request.messages
    assert (request.model, request.options) == ("m", {"temperature": 0})
    assert (task.role, question.role, question.images) == ("system", "user", (b"RIFF",))


def test_language_and_context_are_told() -> None:
    task = to_chat(Recording("m", b"RIFF", language="Breton", prompt="tides")).messages[0].content
    assert task.endswith(" The audio is in Breton. Context: tides")
