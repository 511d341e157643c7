"""From a model and a request's options to what has to be loaded.

Source: ``api-native`` §6, ``scheduler`` §3.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.loads import LoadSpec, ModelFiles
from orchestrator.domain.option_limits import within_limits
from orchestrator.domain.option_remarks import Frame, remarks
from orchestrator.domain.options import Options, read_options
from orchestrator.domain.quoting import quoted
from orchestrator.domain.requests import GenerationRequest
from orchestrator.domain.think import Think
from orchestrator.inference.errors import MissingCapability
from orchestrator.store.model import Model

logger = logging.getLogger(__name__)

_SMALLEST_WINDOW = 4
_SMALLEST_VISION_WINDOW = 2048
_LARGEST_EMBEDDING_BATCH = 2048


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where neither the model nor the request says anything."""

    num_ctx: int
    ctx_auto: bool
    """``num_ctx`` follows from the machine, not from ``OLLAMA_CONTEXT_LENGTH``."""


def load_spec(
    model: Model, request: Mapping[str, Any], defaults: Defaults, *, shift: bool | None, rendered: bool
) -> LoadSpec:
    """What to load for a request. Raises ``InvalidOption``, ``OptionOutOfRange``."""
    files = model.files
    own, wanted = read_options(model.parameters), read_options(request)
    chosen = own | wanted
    # the model's own stops end its turn; a request that adds some must not take those away (case B088)
    settled: dict[str, Any] = {
        "stop": tuple(dict.fromkeys((*wanted.get("stop", ()), *own.get("stop", ())))),
        "num_ctx": _window(model, chosen.get("num_ctx", defaults.num_ctx)),
    }
    if "draft_num_predict" not in chosen and files.draft is None:
        settled["draft_num_predict"] = 0
    batch_auto = "num_batch" not in chosen
    if batch_auto and "embedding" in files.capabilities:
        batch_auto = False
        settled["num_batch"] = min(_LARGEST_EMBEDDING_BATCH, settled["num_ctx"])
    spec = LoadSpec(
        files=files,
        options=within_limits(Options(**(chosen | settled))),
        ctx_auto=defaults.ctx_auto and "num_ctx" not in chosen,
        batch_auto=batch_auto,
        shift=shift if shift is not None else not _cannot_shift(model),
        rendered=rendered,
    )
    for remark in option_remarks(spec, {**model.parameters, **request}, completes=rendered):
        logger.warning("%s", remark, extra={"model": model.name.short})
    return spec


def option_remarks(spec: LoadSpec, options: Mapping[str, Any], *, completes: bool) -> tuple[str, ...]:
    """What is told of ``options`` that do not count as they are, where ``spec`` is what came of them.

    ``completes``: a prompt goes to the engine, not a conversation.
    """
    if not options:
        return ()
    files, facts = spec.files, spec.files.facts
    frame = Frame(
        window=spec.options.num_ctx,
        smallest_window=_smallest_window(files),
        trained_window=facts.trained_context,
        drafts=files.draft is not None or facts.nextn_predict_layers > 0 or facts.has_mtp_tensors,
        zero_is_unlimited=completes,
    )
    return tuple(remarks(options, frame))


def settled_think(model: Model, request: GenerationRequest) -> Think | None:
    """The setting in force: on by default where the model can think. Raises ``MissingCapability``."""
    think = request.think
    if "thinking" in model.files.capabilities:
        return Think(True) if think is None else think
    if not think:
        return think
    if request.think_if_able:
        return None
    raise MissingCapability(f"{quoted(request.model)} does not support thinking")


def _window(model: Model, wanted: int) -> int:
    trained = model.files.facts.trained_context
    window = max(wanted, _smallest_window(model.files))
    return min(window, trained) if trained else window


def _smallest_window(files: ModelFiles) -> int:
    return _SMALLEST_VISION_WINDOW if "vision" in files.capabilities else _SMALLEST_WINDOW


def _cannot_shift(model: Model) -> bool:
    return "deepseek2" in (model.files.family, *model.files.families)
