"""``details``: what kind of model it is, as listings and ``show`` tell it."""

from __future__ import annotations

from orchestrator.domain.loads import ModelFiles
from orchestrator.store.model import ListedModel, Model
from orchestrator.wire import native as wire


def of_model(model: Model) -> wire.ModelDetails:
    """Of an opened model."""
    return _of(model)


def of_listed(model: ListedModel) -> wire.ModelDetails:
    """Of an entry of the listing, which knows the sizes too."""
    return _of(model, context_length=model.context_length, embedding_length=model.embedding_length)


def of_files(files: ModelFiles) -> wire.ModelDetails:
    """Of a loaded model that is no longer in the store."""
    return wire.ModelDetails(format="gguf", family=files.family, families=list(files.families) or None)


def _of(model: Model | ListedModel, **sizes: int) -> wire.ModelDetails:
    config = model.config
    return wire.ModelDetails(
        parent_model=model.parent,
        format=config.model_format,
        family=config.model_family,
        families=list(config.model_families) or None,
        parameter_size=config.model_type,
        quantization_level=model.quantization,
        **sizes,
    )
