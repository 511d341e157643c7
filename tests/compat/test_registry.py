"""Published models of every known form come out as a stock engine wants them."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.compat.layout import own_layout
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.registry import MODULES, may_need_view, plan_view
from orchestrator.compat.source import Source
from orchestrator.compat.writer import opened, write_file
from orchestrator.domain.loads import ModelFacts
from orchestrator.files.facts import model_facts
from orchestrator.files.gguf import read_header
from tests.compat.pairs import Pair, pairs
from tests.compat.tiny import Model, random_tensor
from tests.gguf_builder import Typed

PAIRS = tuple(pairs())
PAGE = Path(__file__).parents[2] / "docs" / "compat.md"


def written(source: Source, plan: FilePlan, path: Path) -> Path:
    """The planned file."""
    with opened(source.path) as file:
        layout = own_layout(plan, file.read)
        write_file(path, layout, file, alignment=plan.alignment, stop=threading.Event())
    return path


def assert_same(path: Path, wanted: Model) -> None:
    """The file has all the keys and exactly the tensors of ``wanted``."""
    header = read_header(path, keep_arrays=True)
    assert {t.name: (t.shape, t.type) for t in header.tensors} == {
        name: (t.shape, t.type) for name, t in wanted.tensors.items()
    }
    content = path.read_bytes()
    for found in header.tensors:
        stored = content[found.offset : found.offset + found.size_bytes]
        assert stored == wanted.tensors[found.name].bytes, found.name
    assert {key: header.metadata.get(key) for key in wanted.metadata} == {
        key: _as_read(value) for key, value in wanted.metadata.items()
    }


def _as_read(value: Any) -> Any:
    plain = value.value if isinstance(value, Typed) else value
    return pytest.approx(_tuple(plain), rel=1e-6) if _has_floats(plain) else _tuple(plain)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _has_floats(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, list) and any(isinstance(v, float) for v in value))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_a_published_model_becomes_the_stock_one(pair: Pair, tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    blob.write_bytes(pair.published.gguf())
    source = Source.read(blob)
    plan = plan_view(source)
    assert plan is not None
    for planned, wanted in ((plan.text, pair.text), (plan.projector, pair.projector)):
        assert (planned is None) == (wanted is None)
        if planned is not None and wanted is not None:
            assert_same(written(source, planned, tmp_path / "view"), wanted)
            (tmp_path / "view").unlink()


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_a_stock_model_needs_no_view(pair: Pair, tmp_path: Path) -> None:
    for model in filter(None, (pair.text, pair.projector)):
        blob = tmp_path / "blob"
        blob.write_bytes(model.gguf())
        assert plan_view(Source.read(blob)) is None


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_what_has_no_layers_is_left_to_the_engine(pair: Pair, tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    blob.write_bytes(pair.published.without_tensors(lambda name: "blk." in name).gguf())
    assert plan_view(Source.read(blob)) is None


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair.text], ids=lambda pair: pair.id)
def test_no_published_model_is_ruled_out_by_its_facts(pair: Pair, tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    blob.write_bytes(pair.published.gguf())
    assert may_need_view(model_facts(blob))


def test_ordinary_llamas_are_ruled_out_by_their_facts() -> None:
    assert not may_need_view(ModelFacts(architecture="llama", tokenizer_pre="llama-bpe", eos_id=128009))


def test_parts_of_split_models_are_left_as_they_are(tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    blob.write_bytes(PAIRS[0].published.with_keys({"split.count": Typed("u16", 2)}).gguf())
    assert plan_view(Source.read(blob)) is None


def test_other_models_are_left_as_they_are(tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    blob.write_bytes(PAIRS[0].published.called("never-heard-of").gguf())
    assert plan_view(Source.read(blob)) is None


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_plans_are_made_of_the_header_alone(pair: Pair, tmp_path: Path) -> None:
    """Tensors may be anything: only their names, types and shapes count."""
    tensors = {name: replace(t, data=bytes(len(t.bytes))) for name, t in pair.published.tensors.items()}
    plans = []
    for model in (pair.published, replace(pair.published, tensors=tensors)):
        blob = tmp_path / "blob"
        blob.write_bytes(model.gguf())
        plans.append(plan_view(Source.read(blob)))
    assert plans[0] == plans[1]


@pytest.mark.parametrize("scale", ["ffn_gate_exps.scale", "ffn_up_exps.scale", "ffn_gate_exps.input_scale"])
def test_experts_with_scales_of_their_own_stay_apart(
    scale: str, by_id: dict[str, Pair], tmp_path: Path
) -> None:
    published = by_id["gemma4"].published
    blob = tmp_path / "blob"
    blob.write_bytes(published.with_tensors([random_tensor(f"blk.0.{scale}", (2,))]).gguf())
    plan = plan_view(Source.read(blob))
    assert plan is not None
    assert plan.text is not None
    names = {tensor.name for tensor in plan.text.tensors}
    apart = {"blk.0.ffn_gate_exps.weight", "blk.0.ffn_up_exps.weight"}
    assert apart <= names
    assert "blk.1.ffn_gate_up_exps.weight" in names


def test_each_known_architecture_has_a_pair() -> None:
    assert {pair.published.architecture for pair in PAIRS} == set(MODULES)


def test_the_table_of_proofs_names_each_pair_and_what_its_engines_are_shown() -> None:
    """docs/compat.md, a row for each row of the rules."""
    rows = re.findall(r"^\| [^|]+ \| ((?:`[^`|]+`,? ?)+)\| ([^|]+) \|", PAGE.read_text(), re.MULTILINE)
    table = {(id, media) for ids, media in rows for id in re.findall("`([^`]+)`", ids)}
    assert table == {(pair.id, _asked(pair)) for pair in PAIRS}


def _asked(pair: Pair) -> str:
    if pair.embeds:
        return "vector"
    kinds = {"text": True, "image": pair.sees, "sound": pair.hears, "guesses": pair.guesses}
    return ", ".join(kind for kind, asked in kinds.items() if asked)
