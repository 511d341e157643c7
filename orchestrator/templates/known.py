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

DIGESTS: Mapping[str, str] = {
    "91aa728ae59c8e30443382f44f48d594b5f7afe91a449c0e5ed0e920a71d60a2": "chatml",
    "3ce2fe9753f9a77a601f55dfcab7cd46fbc91324aae0f78ca38d194a4eaef8d5": "chatml",
    "a805e50fed68938a076b07e2e602639611b50b1ced0e50f11eb92f1ba25be4dc": "chatml",
    "153280e3ff55d19da1398bdb3914ee2a51b80429bfaedde11d7d216c39db80f3": "chatml",
    "793202280c0910ab26bc6eb57c8212c2417324c6d8c4efd0d10d59092ab3e3eb": "chatml",
    "e6f6e5c192657d1631c2cdf89cd8402518e7bf3f44dce4c4a7d9be74bfaa946a": "chatml",
    "f42d04ffb2e487fa9c501ab886afe8fce0822f9874a9ca4284ba57e2a686a56a": "chatml",
    "bf61473d7119388a9093c4e55e4d83651e68e1cfa985a82093a0d1a2ac114514": "zephyr",
    "26a59556925c987317ce5291811ba3b7f32ec4c647c400c6cc7e3a9993007ba7": "mistral-instruct",
    "7e995b379ec01747807246483647cd99030abf331653f1119e16d7ac041a3495": "mistral-instruct",
    "6de66c5b4eb23df882a50a73aa7759464b45dbc05495538ffbd91df35fa6c823": "starcoder2-instruct",
    "ea2472f29dbd93c3eb696795f6403228fcc4b775518869c771f83fbae5c11dbf": "llama2-chat",
    "75678d463085865163b4c6dbc28f7178738d992b53124ad3612304f48a983b02": "codellama-70b-instruct",
    "993c0af704bad76aeba4263a5318f7873a06420a8eb7d40b72a49c39599c0a66": "alpaca",
    "8aeba567270fa9a8d5372caf4b04affea947c4421d96adc01e3ff94021b0ae8e": "chatqa",
    "cd3636885332999fc1931dc2a0070f767bc5b2af643ab05c6dc48806add23b3f": "chatqa",
    "ecd6ae513fe103f0eb62e8ab5bfa8d0fe45c1074fa398b089c93a7e70c15cfd6": "gemma-instruct",
    "ba03a121d097859c7b5b9cd03af99aafe95275210d2876f642ad9929a150f122": "llama3-instruct",
    "e10ca381b1ccc5cf9db52e371f3b6651576caee0a630b452e2816b2d404d4b65": "llama3-instruct",
    "e84ee90c8a81a15d98c58d6b541fc5a5f207507e88f5d8338b64040e40430161": "granite-instruct",
    "605841622bcb6572225608f09ec2afcdfb9fb50844ef52715a12689f7b9278b1": "phi-3",
    "268b6082ceb7176dc6ed80557a2f7837f9f0339592fbee677d405a553af15f88": "phi-3",
    "b0e53f5e7bae6fdb93013abeceef343e8841cce87def2601e7269a53439b5740": "phi-3",
    "b8e5e922a7a4ab5df61a904ef54639a27022fd84eb6b6434f09503afeca60eb4": "solar-instruct",
    "9db2cf47ce03bfd0aab6ec59942503714fa0372f09f7e1d54cbcd71a1110b863": "command-r",
}
"""SHA-256 of a jinja text → the built-in template of the same turns."""

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


def autodetect(jinja_text: str) -> KnownTemplate | None:
    """The built-in template with the turns of a jinja template, if one fits."""
    name = DIGESTS.get(sha256(jinja_text.encode("utf-8", "surrogateescape")).hexdigest())
    if name is None:
        name = next((signature.name for signature in SIGNATURES if signature.fits(jinja_text)), None)
    return None if name is None else known(name)


@cache
def known(name: str) -> KnownTemplate:
    """The built-in template of that name, one of ``NAMES``."""
    text = (files("orchestrator.templates") / "builtin" / f"{name}.gotmpl").read_text("utf-8")
    parameters = {"stop": list(_STOP[name]), **_MORE_PARAMETERS.get(name, {})}
    return KnownTemplate(name, text, parameters)
