"""Tokenizers of Hugging Face models."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.folder import ModelFolder
from orchestrator.create.convert.sentencepiece import read_sentencepiece
from orchestrator.create.convert.tokenizer import SpecialToken, Tokenizer, read_tokenizer
from tests.create.convert.model_folders import spm_model

PLAIN: dict[str, Any] = {"model": {"vocab": {"a": 0, "b": 1}}}


def tokenizer_of(directory: Path, **files: Any) -> Tokenizer:
    """The tokenizer of files named with ``_`` for the dot; texts are written as they are."""
    paths = {}
    for name, content in files.items():
        path = directory / f"{'.'.join(name.rsplit('_', 1))}"
        raw = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(raw.encode() if isinstance(raw, str) else raw)
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
    assert tokenizer.scores == [0.0, 1.0, -1.0, -1.0, 4.0]


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


MODEL = spm_model([("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("<0x00>", 0.0, 6), ("a", -1.5, 1), ("odd", 0.0, 4)])


def test_a_sentencepiece_model_comes_first(tmp_path: Path) -> None:
    tokenizer = tokenizer_of(tmp_path, tokenizer_model=MODEL, tokenizer_json=PLAIN)
    assert tokenizer.model == "llama"
    assert tokenizer.tokens == ["<unk>", "<s>", "<0x00>", "a", "odd"]
    assert tokenizer.scores == [0.0, 0.0, 0.0, -1.5, 0.0]
    assert tokenizer.types == [2, 3, 6, 1, 1]
    assert tokenizer.adds_space


def test_a_sentencepiece_model_needs_nothing_else(tmp_path: Path) -> None:
    tokenizer = tokenizer_of(tmp_path, tokenizer_model=MODEL)
    assert (len(tokenizer.tokens), tokenizer.merges, tokenizer.special) == (5, [], {})


@pytest.mark.parametrize(
    ("model", "config"),
    [(spm_model([("a", 0.0, 1)], dummy_prefix=False), {}), (MODEL, {"add_prefix_space": False})],
)
def test_no_space_is_put_in_front_of_a_text_where_the_model_says_so(
    tmp_path: Path, model: bytes, config: dict[str, Any]
) -> None:
    tokenizer = tokenizer_of(tmp_path, tokenizer_model=model, tokenizer_config_json=config)
    assert tokenizer.metadata()["tokenizer.ggml.add_space_prefix"] is False


@pytest.mark.parametrize("entry", ["<mark>", {"content": "<mark>", "lstrip": False}])
def test_pieces_that_structure_a_conversation_are_controls(tmp_path: Path, entry: Any) -> None:
    pieces = [("<mark>", 0.0, 4), ("<start_of_turn>", 0.0, 1), ("<escape>", 0.0, 4), ("<other>", 0.0, 4)]
    tokenizer = tokenizer_of(
        tmp_path,
        tokenizer_model=spm_model(pieces),
        special_tokens_map_json={"additional_special_tokens": [entry]},
    )
    assert tokenizer.types == [3, 3, 3, 1]


def test_added_tokens_go_on_where_the_pieces_end(tmp_path: Path) -> None:
    tokenizer = tokenizer_of(
        tmp_path, tokenizer_model=MODEL, added_tokens_json={"<b>": 6, "<a>": 5, "<unk>": 0}
    )
    assert tokenizer.tokens[4:] == ["odd", "<a>", "<b>"]
    assert (tokenizer.scores[5:], tokenizer.types[5:]) == ([-1000.0, -1000.0], [4, 4])


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ({"<a>": 7}, r"^invalid token id: \[7\] as pos \[5\]$"),
        ({"<a>": -1}, r"^invalid token id: \[-1\] as pos \[5\]$"),
        ({"<a>": 5, "<b>": 5}, r"^invalid token id: \[5\] as pos \[6\]$"),
        ({"<other>": 0}, r"^token mismatch: <other> != <unk> at pos \[0\]$"),
        ({"<a>": "5"}, r"^parse added_tokens.json: bad id '5' of token '<a>'$"),
        ({"<a>": True}, r"^parse added_tokens.json: bad id True"),
    ],
)
def test_added_tokens_that_do_not_go_on_are_refused(
    tmp_path: Path, added: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConversionFailed, match=message):
        tokenizer_of(tmp_path, tokenizer_model=MODEL, added_tokens_json=added)


@given(st.integers(min_value=0, max_value=len(MODEL)), st.binary(max_size=4))
def test_a_damaged_sentencepiece_model_is_refused_or_read(cut: int, tail: bytes) -> None:
    with suppress(ConversionFailed):
        read_sentencepiece(MODEL[:cut] + tail)


@pytest.mark.parametrize(
    "content", [b"no model at all", b"\xff" * 11, b"\x0a\x05abc", b"\x08\x01\x0b", b"\x0a"]
)
def test_what_is_no_sentencepiece_model_is_told(content: bytes) -> None:
    with pytest.raises(ConversionFailed, match=r"^parse tokenizer.model: it is no SentencePiece model$"):
        read_sentencepiece(content)
