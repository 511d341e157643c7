"""Tokenizers of Hugging Face models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.folder import ModelFolder
from orchestrator.create.convert.tokenizer import SpecialToken, Tokenizer, read_tokenizer

PLAIN: dict[str, Any] = {"model": {"vocab": {"a": 0, "b": 1}}}


def tokenizer_of(directory: Path, **files: Any) -> Tokenizer:
    """The tokenizer of files named with ``_`` for the dot; texts are written as they are."""
    paths = {}
    for name, content in files.items():
        path = directory / f"{'.'.join(name.rsplit('_', 1))}"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        paths[path.name] = path
    return read_tokenizer(ModelFolder(paths))


def test_added_tokens_win_over_the_vocabulary_and_gaps_are_filled(tmp_path: Path) -> None:
    added = [
        {"id": 1, "content": "<b>", "special": True},
        {"id": 4, "content": "<x>", "special": False},
    ]
    tokenizer = tokenizer_of(tmp_path, tokenizer_json=PLAIN | {"added_tokens": added})
    assert tokenizer.tokens == ["a", "<b>", "[PAD2]", "[PAD3]", "<x>"]
    assert tokenizer.types == [1, 3, 5, 5, 4]
    assert tokenizer.scores == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_the_vocabulary_is_padded_to_the_rows_of_the_embedding(tmp_path: Path) -> None:
    tokenizer = tokenizer_of(tmp_path, tokenizer_json=PLAIN).padded(4)
    assert tokenizer.tokens == ["a", "b", "[PAD0]", "[PAD1]"]
    assert tokenizer.scores[2:] == [-1.0, -1.0]
    assert tokenizer.types[2:] == [4, 4]
    assert tokenizer.padded(1) is tokenizer


@pytest.mark.parametrize("merges", [["a b", "c d"], [["a", "b"], ["c", "d"]]])
def test_merges_are_texts_or_pairs(tmp_path: Path, merges: list[Any]) -> None:
    content = {"model": {"vocab": {"a": 0}, "merges": merges}}
    assert tokenizer_of(tmp_path, tokenizer_json=content).merges == ["a b", "c d"]


@pytest.mark.parametrize("merges", [7, ["a b", ["c", "d"]], [["a", 1]], "a b"])
def test_other_merges_are_refused(tmp_path: Path, merges: Any) -> None:
    with pytest.raises(ConversionFailed, match="^could not parse tokenizer merges"):
        tokenizer_of(tmp_path, tokenizer_json={"model": {"vocab": {}, "merges": merges}})


@pytest.mark.parametrize(
    ("steps", "name"),
    [
        ([], "default"),
        ([{"type": "Split", "pattern": {"Regex": "never heard of"}}], "default"),
        (
            [
                {"type": "ByteLevel"},
                {
                    "type": "Split",
                    "pattern": {
                        "Regex": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
                        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
                    },
                },
            ],
            "llama-bpe",
        ),
    ],
)
def test_the_pre_tokenizer_is_known_by_its_patterns(
    tmp_path: Path, steps: list[dict[str, Any]], name: str
) -> None:
    content = PLAIN | {"pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}}
    assert tokenizer_of(tmp_path, tokenizer_json=content).pre == name


def test_special_tokens_are_those_among_the_added_ones(tmp_path: Path) -> None:
    added = [{"id": number, "content": text, "special": True} for number, text in enumerate("xyz")]
    config = {
        "bos_token": "x",
        "add_bos_token": True,
        "eos_token": {"content": "y"},
        "add_eos_token": None,
        "sep_token": "z",
        "pad_token": "a",
        "add_pad_token": True,
        "cls_token": 3,
    }
    tokenizer = tokenizer_of(
        tmp_path,
        tokenizer_json=PLAIN | {"added_tokens": added},
        tokenizer_config_json=config,
        generation_config_json={"eos_token_id": [1, 2], "bos_token_id": 0},
    )
    assert tokenizer.special == {
        "bos": SpecialToken(0, True),
        "eos": SpecialToken(1, False, (1, 2)),
        "seperator": SpecialToken(2),
    }
    metadata = tokenizer.metadata()
    assert metadata["tokenizer.ggml.eos_token_ids"] == (1, 2)
    assert metadata["tokenizer.ggml.seperator_token_id"] == 2
    assert metadata["tokenizer.ggml.add_eos_token"] is False
    assert "tokenizer.ggml.add_seperator_token" not in metadata


def test_a_switch_that_is_no_boolean_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConversionFailed, match="add_bos_token must be a boolean"):
        tokenizer_of(
            tmp_path,
            tokenizer_json=PLAIN | {"added_tokens": [{"id": 0, "content": "x"}]},
            tokenizer_config_json={"bos_token": "x", "add_bos_token": "yes"},
        )


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ x }}", "{{ x }}"),
        ([{"name": "rag", "template": "r"}, {"name": "default", "template": "d"}], "d"),
        ([{"name": "rag", "template": "r"}], ""),
        (None, "from the file"),
    ],
)
def test_the_chat_template_is_the_default_one(tmp_path: Path, template: Any, expected: str) -> None:
    tokenizer = tokenizer_of(
        tmp_path,
        tokenizer_json=PLAIN,
        tokenizer_config_json={"chat_template": template},
        chat_template_jinja="from the file",
    )
    assert tokenizer.chat_template == expected
    assert tokenizer.metadata().get("tokenizer.chat_template", "") == expected


def test_a_chat_template_of_another_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConversionFailed, match="^invalid chat_template"):
        tokenizer_of(tmp_path, tokenizer_json=PLAIN, tokenizer_config_json={"chat_template": 5})


@pytest.mark.parametrize(
    "added", [[5], [{"id": -1, "content": "x"}], [{"id": 1 << 40, "content": "x"}], [{"content": "x"}]]
)
def test_bad_added_tokens_are_refused(tmp_path: Path, added: list[Any]) -> None:
    with pytest.raises(ConversionFailed, match="bad added token"):
        tokenizer_of(tmp_path, tokenizer_json=PLAIN | {"added_tokens": added})


def test_a_sentencepiece_model_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConversionFailed, match=r"^tokenizer.model cannot be converted yet"):
        tokenizer_of(tmp_path, tokenizer_model="x")
