"""When a loaded runner will do for a request, and when the model has to be loaded again.

Source: ``scheduler`` §6. Different from Ollama on purpose: a smaller window is served by a larger one,
whoever chose it (case B108); the draft model and the template flag are compared, without which an alias would
get the wrong process.
"""

from __future__ import annotations

from orchestrator.domain.loads import LoadSpec, ModelFiles
from orchestrator.domain.options import LOAD_OPTION_NAMES

_WISHES = tuple(name for name in LOAD_OPTION_NAMES if name != "num_ctx")


def suits(wanted: LoadSpec, *, asked: LoadSpec, loaded: LoadSpec, mmap_auto: bool = False) -> bool:
    """Whether a runner serves ``wanted`` as it is.

    ``asked`` is what the runner was started for, ``loaded`` what came of it (chosen batch, derived mmap). The
    same wish never loads twice, even where the engine made something else of it.
    """
    return _same_process(wanted, loaded) and (
        _options_suit(wanted, loaded, mmap_auto) or same_wish(wanted, asked)
    )


def shares_start(wanted: LoadSpec, started: LoadSpec) -> bool:
    """Whether ``wanted`` is served, too, by a start for another request that is not over yet."""
    return suits(wanted, asked=started, loaded=started)


def same_wish(one: LoadSpec, other: LoadSpec) -> bool:
    """Whether two specs ask for the same start; automatic windows are the same wish, whatever their size."""
    return (
        _same_process(one, other)
        and one.ctx_auto == other.ctx_auto
        and one.batch_auto == other.batch_auto
        and (one.ctx_auto or one.window == other.window)
        and all(getattr(one.options, name) == getattr(other.options, name) for name in _WISHES)
    )


def _same_process(one: LoadSpec, other: LoadSpec) -> bool:
    """Files and flags that are fixed when the process starts."""
    return one.shift == other.shift and one.rendered == other.rendered and _same_files(one.files, other.files)


def _same_files(one: ModelFiles, other: ModelFiles) -> bool:
    return (
        one.key == other.key
        and one.adapters == other.adapters
        and one.projectors == other.projectors
        and one.draft == other.draft
    )


def _options_suit(wanted: LoadSpec, loaded: LoadSpec, mmap_auto: bool) -> bool:
    wish, fact = wanted.options, loaded.options
    both_ctx_auto = wanted.ctx_auto and loaded.ctx_auto
    return (
        (both_ctx_auto or wanted.window <= fact.num_ctx)
        and _batch_suits(wanted, loaded)
        and (wish.num_gpu < 0 or wish.num_gpu == fact.num_gpu)
        and wish.main_gpu == fact.main_gpu
        and (wish.use_mmap == fact.use_mmap or (mmap_auto and wish.use_mmap is None))
        and wish.num_thread == fact.num_thread
        and wish.draft_num_predict == fact.draft_num_predict
    )


def _batch_suits(wanted: LoadSpec, loaded: LoadSpec) -> bool:
    """Whether the batch that is there does. An embedding model's follows its window, so more will do."""
    wish, fact = wanted.options.num_batch, loaded.options.num_batch
    if "embedding" in wanted.files.capabilities:
        return wish <= fact
    return wish == fact or (wanted.batch_auto and loaded.batch_auto)
