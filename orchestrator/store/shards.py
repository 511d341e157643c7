"""Weights that are split into several files, each a layer of its own.

Such files say which they are: ``split.no`` of ``split.count``. The first one knows all about the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from orchestrator.files.gguf import GgufConfig


def weights_of(layers: Sequence[Path], config: Callable[[Path], GgufConfig]) -> tuple[Path, ...]:
    """The files of a model's weights: shards in their order, else the last layer alone; none without layers.

    ``config`` reads what a file says.
    """
    if len(layers) < 2:
        return tuple(layers)
    numbered = {config(path).metadata.get("split.no"): path for path in layers}
    counts = {config(path).metadata.get("split.count") for path in layers}
    order = range(len(layers))
    if counts == {len(layers)} and numbered.keys() == set(order):
        return tuple(numbered[number] for number in order)
    return (layers[-1],)
