"""The configuration of a model being made. Source: ``modelfile`` §5.2, §5.5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.create.parts import Part
from orchestrator.create.plan import CreatePlan, RemoteModel
from orchestrator.files.gguf import GgufHeader
from orchestrator.store.wire import DraftConfig, MediaType, ModelConfig
from orchestrator.units import format_count


@dataclass(frozen=True, slots=True)
class FamilyDefaults:
    """What a family of models needs when the client says nothing."""

    renderer: str
    parser: str
    stop: tuple[str, ...] = ()


_NEMOTRON = FamilyDefaults("nemotron-3-nano", "nemotron-3-nano")
_DEFAULTS = {
    "gemma4": FamilyDefaults("gemma4", "gemma4", ("<turn|>",)),
    "laguna": FamilyDefaults("laguna", "laguna"),
    "nemotron_h": _NEMOTRON,
    "nemotron_h_moe": _NEMOTRON,
    "nemotron_h_omni": _NEMOTRON,
}
_NO_DEFAULTS = FamilyDefaults("", "")


def family_defaults(parts: Sequence[Part]) -> FamilyDefaults:
    """The defaults of the family the weights belong to."""
    for header in _headers(parts, MediaType.MODEL):
        return _DEFAULTS.get(header.config.architecture, _NO_DEFAULTS)
    return _NO_DEFAULTS


def model_config(plan: CreatePlan, base: ModelConfig, parts: Sequence[Part]) -> ModelConfig:
    """What the client said, else what the weights say, else what the base's configuration says."""
    overrides = plan.overrides
    weights = list(_headers(parts, MediaType.MODEL))
    drafts = list(_headers(parts, MediaType.DRAFT))
    families = tuple(header.config.architecture for header in weights)
    stated = (overrides.model_family,) if overrides.model_family else ()
    defaults = family_defaults(parts)
    known = _of_weights(parts) if weights else base
    remote = (
        plan.base if isinstance(plan.base, RemoteModel) else RemoteModel(base.remote_host, base.remote_model)
    )
    return ModelConfig(
        model_format=base.model_format or ("gguf" if weights else ""),
        model_family=overrides.model_family or known.model_family,
        model_families=(stated + families) if weights else (stated or known.model_families),
        model_type=overrides.parameter_size or known.model_type,
        file_type=overrides.quantization_level or known.file_type,
        renderer=plan.renderer or base.renderer or defaults.renderer,
        parser=plan.parser or base.parser or defaults.parser,
        requires=plan.requires or base.requires,
        remote_host=remote.host,
        remote_model=remote.model,
        capabilities=base.capabilities + overrides.capabilities,
        context_length=overrides.context_length,
        embedding_length=overrides.embedding_length,
        base_name=overrides.base_name,
        draft=DraftConfig(model_format="gguf", architecture=drafts[0].config.architecture)
        if drafts
        else base.draft,
    )


def _of_weights(parts: Sequence[Part]) -> ModelConfig:
    part = next(part for part in parts if part.media_type == MediaType.MODEL and part.files)
    header = part.files[0].header
    return ModelConfig(
        model_family=header.config.architecture,
        model_type=format_count(sum(file.header.parameter_count for file in part.files)),
        file_type=header.file_type_name,
    )


def _headers(parts: Sequence[Part], media_type: MediaType) -> list[GgufHeader]:
    return [part.header for part in parts if part.media_type == media_type and part.header is not None]
