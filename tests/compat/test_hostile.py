"""Files that lie: whatever stands in a header, there is a plan or an error that says why not."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.compat.errors import CannotTranslate
from orchestrator.compat.layout import own_layout
from orchestrator.compat.registry import plan_view
from orchestrator.compat.source import Source
from orchestrator.compat.writer import opened, write_file
from orchestrator.files.gguf import MalformedGguf
from tests.compat.pairs import pairs
from tests.compat.tiny import Model
from tests.gguf_builder import Tensor, Typed

SMALL = {pair.id: pair.published for pair in pairs() if pair.id not in ("llama3", "gemma3n")}
LARGEST_VIEW = 64 << 20

shapes = st.lists(st.sampled_from([0, 1, 2, 3, 14, 32]), max_size=4).map(tuple)
values = st.one_of(
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 1).map(lambda value: Typed("u64", value)),
    st.sampled_from([0.0, -1.0, 1e-30, float("inf"), float("nan")]),
    st.booleans(),
    st.just(""),
    st.lists(st.integers(0, 2**31 - 1), max_size=5).map(lambda value: Typed("arr:i32", value)),
    st.just(["a", "b"]),
)


@dataclass(frozen=True)
class Damage:
    """What is wrong with a published model: tensors gone or of other shapes, values of other kinds."""

    model: str
    tensors: Mapping[str, tuple[int, ...] | None]
    keys: Mapping[str, Any]

    def done(self) -> Model:
        model = SMALL[self.model]
        tensors = dict(model.tensors)
        for name, shape in self.tensors.items():
            tensor = tensors.pop(name)
            if shape is not None:
                tensors[name] = Tensor(name, shape, tensor.type)
        return replace(model, metadata={**model.metadata, **self.keys}, tensors=tensors)


@st.composite
def damages(draw: st.DrawFn) -> Damage:
    name = draw(st.sampled_from(sorted(SMALL)))
    tensors = draw(st.sets(st.sampled_from(sorted(SMALL[name].tensors)), max_size=4))
    keys = draw(st.sets(st.sampled_from(sorted(SMALL[name].metadata)), max_size=3))
    return Damage(
        name,
        {tensor: draw(st.none() | shapes) for tensor in sorted(tensors)},
        {key: draw(values) for key in sorted(keys - {"general.architecture"})},
    )


@given(damage=damages())
@settings(max_examples=100)
def test_a_damaged_file_is_planned_or_refused(
    damage: Damage, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder: Path = tmp_path_factory.mktemp("hostile")
    blob = folder / "blob"
    blob.write_bytes(damage.done().gguf())
    with suppress(CannotTranslate, MalformedGguf):
        plan = plan_view(Source.read(blob))
        for part in filter(None, (plan.text, plan.projector) if plan else ()):
            with opened(blob) as file:
                layout = own_layout(part, file.read)
                assert layout.size_bytes < LARGEST_VIEW
                write_file(folder / "view", layout, file, alignment=32, stop=threading.Event())
            (folder / "view").unlink()
