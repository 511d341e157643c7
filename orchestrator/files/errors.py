"""The errors of reading model files."""

from __future__ import annotations

from orchestrator.errors import BadRequest


class MalformedGguf(BadRequest):
    """A file that is no GGUF, or one whose header contradicts itself or the size of the file."""


class MalformedSafetensors(BadRequest):
    """A safetensors file whose header cannot be believed."""
