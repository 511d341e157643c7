from __future__ import annotations

from pathlib import Path

from orchestrator.doctor.tiny import write_tiny_model
from orchestrator.files.facts import model_facts


def test_the_tiny_model_is_a_model_and_always_the_same(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_tiny_model(tmp_path / name)
    facts = model_facts(tmp_path / "a")
    assert (facts.architecture, facts.block_count, facts.trained_context) == ("llama", 1, 512)
    assert facts.size_bytes < 100_000
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
