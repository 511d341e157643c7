"""Which family translates a file: a table, and the one function over it.

Families are imported when a file of their architecture is met.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from orchestrator.compat.draft import Draft
from orchestrator.compat.errors import CannotTranslate
from orchestrator.compat.families.base import Family
from orchestrator.compat.plan import FilePlan, ViewPlan
from orchestrator.compat.source import Source
from orchestrator.domain.loads import ModelFacts

RULES_VERSION = 2
"""Goes up when a family plans anything else than before, so that old views are made anew."""

MODULES: Mapping[str, str] = {
    "bert": "bert",
    "clip": "llava",
    "deepseekocr": "deepseekocr",
    "gemma3": "gemma3",
    "gemma3n": "gemma3n",
    "gemma4": "gemma4",
    "glm4moelite": "glm",
    "glmocr": "glm",
    "gptoss": "gptoss",
    "laguna": "laguna",
    "lfm2": "lfm2",
    "llama": "llama",
    "llama4": "llama4",
    "mistral3": "mistral3",
    "nemotron_h_moe": "nemotron",
    "nemotron_h_omni": "nemotron",
    "olmo3": "olmo3",
    "qwen25vl": "qwen25vl",
    "qwen35": "qwen35",
    "qwen35moe": "qwen35",
    "qwen3next": "qwen35",
    "qwen3vl": "qwen3vl",
    "qwen3vlmoe": "qwen3vl",
}
"""Architecture → module of ``families``, whose ``FAMILIES`` has it."""

_END_OF_TEXT_OF_LLAMA_3 = 128001


def may_need_view(facts: ModelFacts) -> bool:
    """Whether the weights must be looked at: what is known of them already rules most files out."""
    if facts.architecture == "llama":  # so many are called that, and hardly one of them needs anything
        return facts.tokenizer_pre in ("", "default") or facts.eos_id == _END_OF_TEXT_OF_LLAMA_3
    return facts.architecture in MODULES


def plan_view(source: Source) -> ViewPlan | None:
    """The view that a stock engine needs of a file; ``None`` if it reads the file itself, as far as we know.

    Raises ``CannotTranslate``.
    """
    family = _family(source)
    if family is None:
        return None
    has_tower = source.has_tensors("v.")
    try:
        text = family.text(source) if family.text else None
        projector = family.projector(source) if family.projector and has_tower else None
    except (ArithmeticError, LookupError, ValueError) as error:  # of shapes that such models never have
        raise CannotTranslate(f"{source.architecture} model of an unknown form: {error}") from error
    if projector is None and text is not None and _is_the_source(text, source):
        return None
    return ViewPlan(text, projector)


def _is_split(source: Source) -> bool:
    """Whether this is a part of a model: only llama.cpp's own programs write such."""
    return "split.count" in source.header.metadata


def _has_layers(source: Source) -> bool:
    """Whether this is a model at all. If not, the engine is the one to say what is missing."""
    return any(".blk." in f".{name}" for name in source.tensors)


def _is_the_source(plan: FilePlan, source: Source) -> bool:
    """Whether nothing has changed: some marks are found in files of stock converters, too."""
    same = Draft(source).plan()
    return (plan.tensors, plan.metadata) == (same.tensors, same.metadata)


def _family(source: Source) -> Family | None:
    module = MODULES.get(source.architecture)
    if module is None or source.header.big_endian or _is_split(source) or not _has_layers(source):
        return None
    families: Mapping[str, tuple[Family, ...]] = import_module(
        f"orchestrator.compat.families.{module}"
    ).FAMILIES
    return next((family for family in families[source.architecture] if family.fits(source)), None)
