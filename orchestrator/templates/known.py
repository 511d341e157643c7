"""The templates that come with the program, and which models they fit.

A model converted from published weights brings a chat template in jinja. If that is one of the simple ones of
early chat models, the model gets our Go template of the same turns, and the stop strings that belong to it.
Early templates are known by their digest; others by the tokens of their turns, as long as they are short and
do nothing besides (tools, reasoning): the built-in template would lose that.
Source: ``prompts`` §2.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class KnownTemplate:
    """A built-in template and the parameters a model gets with it."""

    name: str
    text: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Signature:
    """How the jinja template of a family looks."""

    name: str
    marks: tuple[str, ...]
    """All of them occur."""
    strangers: tuple[str, ...] = ()
    """None of them occurs."""
    longest: int = 900
    """Code points; longer ones do more than the built-in template."""

    def fits(self, jinja_text: str) -> bool:
        """Whether ``jinja_text`` is a template of this family."""
        return (
            len(jinja_text) <= self.longest
            and all(mark in jinja_text for mark in self.marks)
            and not any(mark in jinja_text for mark in (*self.strangers, *_MORE_THAN_TURNS))
        )


_MORE_THAN_TURNS = ("tool_call", "tools", "<think>", "reasoning_content")

SIGNATURES = (
    Signature("chatml", ("<|im_start|>", "<|im_end|>")),
    Signature("alfred", ("<start_", "<end_message>")),
    Signature("codellama-70b-instruct", ("Source: ", "Destination: ", "<step>"), longest=1500),
    Signature("command-r", ("<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>"), ("<|START_RESPONSE|>",), 2500),
    Signature("llama3-instruct", ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")),
    Signature("llama2-chat", ("[INST]", "<<SYS>>"), longest=2500),
    Signature("mistral-instruct", ("[INST]", "[/INST]"), ("<<SYS>>", "[AVAILABLE_TOOLS]"), 1500),
    Signature("gemma3-instruct", ("<start_of_turn>", "<end_of_turn>", "<start_of_image>"), longest=2500),
    Signature("gemma-instruct", ("<start_of_turn>", "<end_of_turn>"), ("<start_of_image>",)),
    Signature("openchat", ("GPT4 Correct",)),
    Signature("phi-3", ("<|end|>", "<|assistant|>"), ("<|start|>", "<|channel|>", "<|im_start|>")),
    Signature("zephyr", ("<|user|>", "<|assistant|>"), ("<|end|>", "<|im_start|>", "[gMASK]")),
    Signature("solar-instruct", ("### User:", "### Assistant:")),
    Signature("starcoder2-instruct", ("### Instruction", "### Response"), ("### Instruction:",)),
    Signature("alpaca", ("### Instruction:", "### Response:")),
    Signature("magicoder", ("@@ Instruction", "@@ Response")),
    Signature("granite-instruct", ("Question:", "Answer:")),
    Signature("falcon-instruct", ("User:", "Falcon:")),
    Signature("chatqa", ("System: ", "User: ", "Assistant: ")),
)

_SOURCES = {
    "alfred": "071cfb2d4c797ad4",
    "alpaca": "993c0af704bad76a",
    "chatml": (
        "91aa728ae59c8e30 58c1a1f04baa7ada 3ce2fe9753f9a77a a805e50fed68938a 153280e3ff55d19d "
        "793202280c0910ab af9c0233881b083b e6f6e5c192657d16 f42d04ffb2e487fa f02c534193010c4b "
        "faf1f8b675beeabd"
    ),
    "chatqa": "8aeba567270fa9a8 cd3636885332999f",
    "codellama-70b-instruct": "75678d4630858651",
    "command-r": "9db2cf47ce03bfd0",
    "falcon-instruct": "2c575663fbb6c03a f6084d6ec1cb3238",
    "gemma-instruct": "ecd6ae513fe103f0",
    "gemma3-instruct": "7de1c58e208eda46",
    "granite-instruct": "e84ee90c8a81a15d",
    "llama2-chat": "ea2472f29dbd93c3 e8d5b5a546d3f19d",
    "llama3-instruct": "ba03a121d097859c e10ca381b1ccc5cf",
    "magicoder": "230527c8a608cf3a",
    "mistral-instruct": "26a59556925c9873 7e995b379ec01747",
    "openchat": "901b10d47195fadb",
    "phi-3": "605841622bcb6572 268b6082ceb7176d b0e53f5e7bae6fdb",
    "solar-instruct": "b8e5e922a7a4ab5d",
    "starcoder2-instruct": "6de66c5b4eb23df8",
    "zephyr": "66291cf0045c2425 bf61473d7119388a",
}
"""Built-in template → the jinja texts of the same turns, by the first digits of their SHA-256."""

DIGESTS: Mapping[str, str] = {
    digest: name for name, digests in _SOURCES.items() for digest in digests.split()
}
"""The same the other way around."""

_DIGITS = 16

_STOP: Mapping[str, tuple[str, ...]] = {
    "alfred": ("<start_system>", "<end_message>", "<start_user>", "<start_assistant>"),
    "alpaca": ("### Instruction:", "### Response"),
    "chatml": ("<|im_start|>", "<|im_end|>"),
    "chatqa": ("System:", "User:", "Assistant:", "<|begin_of_text|>"),
    "codellama-70b-instruct": ("Source:", "Destination:", "<step>"),
    "command-r": ("<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
    "falcon-instruct": ("User:", "Assistant:"),
    "gemma-instruct": ("<start_of_turn>", "<end_of_turn>"),
    "gemma3-instruct": ("<end_of_turn>",),
    "granite-instruct": ("System:", "Question:", "Answer:"),
    "llama2-chat": ("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"),
    "llama3-instruct": ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    "magicoder": ("@@ Instruction", "@@ Response"),
    "mistral-instruct": ("<|im_start|>", "<|im_end|>"),
    "openchat": ("<|end_of_turn|>",),
    "phi-3": ("<|end|>", "<|system|>", "<|user|>", "<|assistant|>"),
    "solar-instruct": ("### System:", "### User:", "### Assistant"),
    "starcoder2-instruct": ("### Instruction", "### Response", "<|endoftext|>"),
    "vicuna": ("USER:", "ASSISTANT:"),
    "zephyr": ("<|system|>", "</s>", "<|user|>", "<|assistant|>"),
}
_MORE_PARAMETERS: Mapping[str, Mapping[str, Any]] = {"gemma3-instruct": {"temperature": 0.1}}

NAMES = tuple(_STOP)


def by_digest(digest: str) -> str | None:
    """The name of the built-in template with the turns of the jinja text that has this SHA-256."""
    return DIGESTS.get(digest[:_DIGITS])


def autodetect(jinja_text: str) -> KnownTemplate | None:
    """The built-in template with the turns of a jinja template, if one fits."""
    name = by_digest(sha256(jinja_text.encode("utf-8", "surrogateescape")).hexdigest())
    if name is None:
        name = next((signature.name for signature in SIGNATURES if signature.fits(jinja_text)), None)
    return None if name is None else known(name)


@cache
def known(name: str) -> KnownTemplate:
    """The built-in template of that name, one of ``NAMES``."""
    text = (files("orchestrator.templates") / "builtin" / f"{name}.gotmpl").read_text("utf-8")
    parameters = {"stop": list(_STOP[name]), **_MORE_PARAMETERS.get(name, {})}
    return KnownTemplate(name, text, parameters)
