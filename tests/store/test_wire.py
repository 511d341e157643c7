"""Manifests and configurations: what is read and what is written."""

from __future__ import annotations

import pytest

from orchestrator.store.canonical import canonical_json
from orchestrator.store.wire import DraftConfig, Layer, Manifest, MediaType, ModelConfig


def test_a_manifest_is_written_in_the_order_of_the_format() -> None:
    manifest = Manifest(
        config=Layer(media_type=MediaType.CONFIG, digest="sha256:c", size=123),
        layers=(Layer(media_type=MediaType.MODEL, digest="sha256:m", size=456, from_="llama3:latest"),),
    )
    assert canonical_json(manifest.to_json()).decode() == (
        '{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":'
        '{"mediaType":"application/vnd.docker.container.image.v1+json","digest":"sha256:c","size":123},"layers":'
        '[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:m","size":456,'
        '"from":"llama3:latest"}]}\n'
    )


def test_no_layers_are_null() -> None:
    assert Manifest().to_json()["layers"] is None


@pytest.mark.parametrize(
    "text", ['{"layers":null,"config":null}', '{"config":{},"layers":[],"extra":1}', "{}"]
)
def test_a_manifest_is_read_leniently(text: str) -> None:
    manifest = Manifest.model_validate_json(text)
    assert manifest.parts == ()


def test_what_was_written_is_read_back() -> None:
    manifest = Manifest(layers=(Layer(media_type="x", digest="sha256:1", size=1, from_="a", name="n"),))
    assert Manifest.model_validate_json(canonical_json(manifest.to_json())) == manifest


def test_empty_members_of_a_configuration_are_left_out() -> None:
    assert ModelConfig().to_json() == {
        "model_format": "", "model_family": "", "model_families": None, "model_type": "", "file_type": "",
        "architecture": "amd64", "os": "linux",
    }  # fmt: skip


def test_a_full_configuration_is_written_in_the_order_of_the_format() -> None:
    config = ModelConfig(
        model_format="gguf", model_families=("a", "b"), renderer="r", parser="p", requires="1.0.0",
        remote_host="h", remote_model="m", capabilities=("tools",), context_length=1, embedding_length=2,
        base_name="n", draft=DraftConfig(model_format="gguf", architecture="llama"),
    )  # fmt: skip
    assert list(config.to_json()) == [
        "model_format", "model_family", "model_families", "model_type", "file_type", "renderer", "parser",
        "requires", "remote_host", "remote_model", "capabilities", "context_length", "embedding_length",
        "base_name", "draft", "architecture", "os",
    ]  # fmt: skip
    assert config.to_json()["draft"] == {"model_format": "gguf", "architecture": "llama"}
    assert ModelConfig.model_validate_json(canonical_json(config.to_json())) == config


def test_nulls_and_unknown_members_of_a_configuration_are_passed_over() -> None:
    text = '{"model_families":null,"capabilities":null,"draft":null,"rootfs":{"type":"layers"},"os":null}'
    assert ModelConfig.model_validate_json(text).model_families == ()
