"""The head of Qwen 3.5 that guesses tokens ahead, as the last layer of the model."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from orchestrator.compat.draft import Draft, joined
from orchestrator.compat.errors import CannotTranslate
from orchestrator.compat.plan import Operation

_LAYER = re.compile(r"mtp\.layers\.(\d+)\.(.+)")
_EXPERT = re.compile(r"mtp\.layers\.0\.mlp\.experts\.(\d+)\.(gate|up|down)_proj\.weight")
_SHARED: Mapping[str, str] = {
    "mtp.fc.weight": "eh_proj",
    "mtp.pre_fc_norm_embedding.weight": "enorm",
    "mtp.pre_fc_norm_hidden.weight": "hnorm",
    "mtp.embed_tokens.weight": "embed_tokens",
    "mtp.shared_head.head.weight": "shared_head_head",
    "mtp.shared_head.norm.weight": "shared_head_norm",
    "mtp.norm.weight": "shared_head_norm",
}
_NEEDED = ("mtp.fc.weight", "mtp.pre_fc_norm_embedding.weight", "mtp.pre_fc_norm_hidden.weight")
_SHIFTED = ("_norm.weight", ".nextn.enorm.weight", ".nextn.hnorm.weight")


def take_guessing_head(draft: Draft) -> None:
    """Turn ``mtp.…`` tensors into a layer that is counted, if they are a head that engines can use.

    Raises ``CannotTranslate`` for experts that do not fit together.
    """
    if not _is_usable(draft.tensors):
        return
    source = draft.source
    base = max(source.block_numbers(), default=source.config.uint("block_count") - 1) + 1
    draft.set(".nextn_predict_layers", "u32", 1)
    draft.set(".block_count", "u32", base + 1)
    _stack_experts(draft, base)
    new = {name: _new_name(name, base) for name in draft.tensors}
    if "mtp.shared_head.norm.weight" in new:
        draft.hide("mtp.norm.weight")
    draft.rename_each(lambda name: new[name])
    for name in set(new.values()) - set(new):
        if name.endswith(_SHIFTED) and not name.endswith(".ssm_norm.weight") and draft.get(name):
            draft.compute(name, Operation.PLUS_ONE)


def _is_usable(names: Collection[str]) -> bool:
    """Whether there is one whole layer: of several, each would have to have what such files have but once."""
    layers = {match[1] for match in map(_LAYER.match, names) if match}
    return (
        layers == {"0"} and all(name in names for name in _NEEDED) and not any(".nextn." in n for n in names)
    )


def _new_name(name: str, base: int) -> str:
    if match := _LAYER.match(name):
        return f"blk.{base}.{match[2]}"
    if name in _SHARED:
        return f"blk.{base}.nextn.{_SHARED[name]}.weight"
    return name


def _stack_experts(draft: Draft, layer: int) -> None:
    """One tensor out of those of all experts, for each of their parts."""
    stacks: dict[str, dict[int, str]] = {}
    for name in draft.tensors:
        if match := _EXPERT.fullmatch(name):
            stacks.setdefault(match[2], {})[int(match[1])] = name
    for part, experts in stacks.items():
        _stack(draft, f"blk.{layer}.ffn_{part}_exps.weight", experts)


def _stack(draft: Draft, name: str, experts: Mapping[int, str]) -> None:
    numbers: Sequence[int] = sorted(experts)
    stored = [draft.stored(experts[number]) for number in numbers]
    if numbers != list(range(len(numbers))) or len({tensor.shape for tensor in stored}) != 1:
        raise CannotTranslate(f'the experts of "{name}" have gaps, or several shapes')
    draft.replace(experts.values(), joined(name, stored, (*stored[0].shape, len(stored))))
