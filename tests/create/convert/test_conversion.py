"""Model folders become GGUF files: recorded conversions, refusals, atomic output."""

from __future__ import annotations

import hashlib
import json
import math
from contextlib import closing
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFReader

from orchestrator.create.convert.conversion import convert_directory
from orchestrator.create.convert.errors import ConversionFailed, TowersUnsupported, UnsupportedArchitecture
from orchestrator.create.convert.registry import CONVERTERS
from orchestrator.files.gguf import GgufConfig, GgufHeader, read_header
from orchestrator.files.safetensors import read_safetensors
from tests.create.convert.model_folders import change, configuration, convert, convert_adapter, write_folder
from tests.golden_records import Record, cases


def convertible(file: str) -> list[Any]:
    """The cases of folders that have a converter; those of the whole route stand elsewhere."""
    return [
        case
        for case in cases(file)
        if architecture_of(case.values[0]["in"].get("folder", "")) in CONVERTERS
        and not case.values[0]["id"].startswith("create/")
        and not has_towers(case.values[0])
        and not case.values[0]["in"].get("base")
    ]


def has_towers(record: Record) -> bool:
    return "projector" in record.get("out", ())


@cache
def architecture_of(folder: str) -> str:
    """What a folder of the recorded cases says it is, before anything is changed in it."""
    architectures = configuration(folder).get("architectures") or [""]
    return str(architectures[0])


def described_file(path: Path) -> tuple[GgufHeader, dict[str, tuple[tuple[int, ...], str, str]]]:
    header = read_header(path, keep_arrays=True)
    return header, written_tensors(header, path)


@pytest.mark.parametrize("record", convertible("convert/convert.jsonl"))
def test_a_folder_is_converted_as_recorded(record: Record, tmp_path: Path) -> None:
    out = tmp_path / "out.gguf"
    files = write_folder(record["in"]["folder"], tmp_path / "in")
    if is_refused(record):
        with pytest.raises(ConversionFailed):
            convert(files, out)
        return
    convert(files, out)
    header, tensors = described_file(out)
    wanted = record["out"]["text"]
    for key, entry in wanted["metadata"].items():
        assert header.types[key] == entry["type"], key
        assert same_value(header.metadata[key], entry), key
    assert tensors.keys() == {tensor["name"] for tensor in wanted["tensors"]}
    content = out.read_bytes()
    for tensor in wanted["tensors"]:
        if "values" in tensor:
            info = next(info for info in header.tensors if info.name == tensor["name"])
            values = np.frombuffer(content, "<f4", info.elements, info.offset)
            assert values.tolist() == pytest.approx(np.ravel(tensor["values"]).tolist(), rel=1e-5)
        else:
            assert tensors[tensor["name"]] == described(tensor), tensor["name"]


def adapters(file: str) -> list[Any]:
    return [
        case
        for case in cases(file)
        if case.values[0]["in"].get("base")
        and not case.values[0]["in"].get("draft")
        and case.values[0]["in"]["folder"].startswith("adapter-")
    ]


def base_metadata(folder: str, directory: Path) -> GgufConfig:
    """What the converted model says of itself that an adapter is for."""
    convert(write_folder(folder, directory / "base"), directory / "base.gguf")
    return read_header(directory / "base.gguf").config


@pytest.mark.parametrize("record", adapters("convert/convert.jsonl"))
def test_an_adapter_is_converted_as_recorded(record: Record, tmp_path: Path) -> None:
    base = base_metadata(record["in"]["base"], tmp_path)
    out = tmp_path / "out.gguf"
    convert_adapter(base, write_folder(record["in"]["folder"], tmp_path / "in"), out)
    header, tensors = described_file(out)
    wanted = record["out"]["text"]
    for key, entry in wanted["metadata"].items():
        assert header.types[key] == entry["type"], key
        assert same_value(header.metadata[key], entry), key
    assert tensors == {tensor["name"]: described(tensor) for tensor in wanted["tensors"]}


@pytest.mark.parametrize("record", adapters("convert/errors.jsonl"))
def test_a_changed_adapter_is_refused_as_recorded(record: Record, tmp_path: Path) -> None:
    base = base_metadata(record["in"]["base"], tmp_path)
    write_folder(record["in"]["folder"], tmp_path / "in")
    files = change(tmp_path / "in", record["in"]["changes"])
    failure: ConversionFailed | None = None
    try:
        convert_adapter(base, files, tmp_path / "out.gguf")
    except ConversionFailed as error:
        failure = error
    if failure is None:
        assert "out" in record.get("also", ()) or not is_refused(record)
    elif is_refused(record):
        assert is_in_words_of_our_own(record) or str(failure) == record["error"]
    else:
        assert "error" in record.get("also", ()), str(failure)


def with_towers() -> list[Any]:
    return [
        case
        for case in cases("convert/convert.jsonl")
        if has_towers(case.values[0]) and architecture_of(case.values[0]["in"]["folder"]) in CONVERTERS
    ]


@pytest.mark.parametrize("record", with_towers())
def test_a_model_with_towers_is_refused_and_its_text_part_is_converted(
    record: Record, tmp_path: Path
) -> None:
    files = write_folder(record["in"]["folder"], tmp_path / "in")
    with pytest.raises(TowersUnsupported):
        convert(files, tmp_path / "out.gguf")
    towers = [name for name in read_safetensors(files["model.safetensors"]) if ".visual." in name]
    files = change(tmp_path / "in", [{"op": "header", "path": "model.safetensors", "drop": towers}])
    convert(files, tmp_path / "out.gguf")
    _, tensors = described_file(tmp_path / "out.gguf")
    wanted = {tensor["name"]: tensor for tensor in record["out"]["text"]["tensors"]}
    assert tensors.keys() == wanted.keys()
    for name, tensor in wanted.items():
        if "values" not in tensor:
            assert tensors[name] == described(tensor), name


def same_value(value: Any, entry: Any) -> bool:
    if entry["type"] == "f32":
        return math.isclose(value, entry["value"], rel_tol=1e-6)
    if "sha256" not in entry and entry["type"] == "arr:f32":
        return bool(value == pytest.approx(entry["value"], rel=1e-6))
    if "sha256" not in entry:
        return bool((list(value) if isinstance(value, tuple) else value) == entry["value"])
    rounded = [float(f"{element:.9g}") if isinstance(element, float) else element for element in value]
    text = json.dumps(rounded, ensure_ascii=False, separators=(",", ":"))
    return (len(rounded), sha256(text.encode())) == (entry["length"], entry["sha256"])


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def described(tensor: dict[str, Any]) -> tuple[tuple[int, ...], str, str]:
    return tuple(tensor["shape"]), tensor["type"], tensor["sha256"]


def written_tensors(header: GgufHeader, path: Path) -> dict[str, tuple[tuple[int, ...], str, str]]:
    content = path.read_bytes()
    return {
        tensor.name: (
            tensor.shape,
            tensor.type,
            sha256(content[tensor.offset : tensor.offset + tensor.size_bytes]),
        )
        for tensor in header.tensors
    }


@pytest.mark.parametrize("record", convertible("convert/errors.jsonl"))
def test_a_changed_folder_is_refused_or_differs_as_recorded(record: Record, tmp_path: Path) -> None:
    files = write_folder(record["in"]["folder"], tmp_path / "in")
    before, after = tmp_path / "before.gguf", tmp_path / "after.gguf"
    convert(files, before)
    files = change(tmp_path / "in", record["in"]["changes"])
    failure: ConversionFailed | None = None
    try:
        convert(files, after)
    except ConversionFailed as error:
        failure = error
    if failure is None:
        wanted = record.get("also", {}).get("out") if is_refused(record) else record["out"]
        assert wanted is not None, "there was no error"
        assert_differs(described_file(before), described_file(after), wanted["text"])
    elif is_refused(record):
        assert is_in_words_of_our_own(record) or str(failure) == record["error"]
    else:
        assert "error" in record.get("also", ()), str(failure)


def is_refused(record: Record) -> bool:
    """Whether there shall be an error; what is right counts, then what was recorded."""
    return "error" in record.get("right", ()) or "out" not in record


def is_in_words_of_our_own(record: Record) -> bool:
    """Errors of the decoders, of which only that there is one counts, and those that are free."""
    error = record.get("error", "<ANY>")
    return error == "<ANY>" or "error" in record.get("free", ()) or any(words in error for words in _DECODERS)


_DECODERS = (
    "json:",
    "unexpected end of JSON input",
    "invalid character",
    "EOF",
    "unknown data type",
    "Cannot reshape",
    "Dimension mismatch",
    "proto:",
    "pytorch_model.bin",
    "unexpected fp8 scale shape",  # of several tensors, ours names the first
)


def assert_differs(before: Any, after: Any, wanted: dict[str, Any]) -> None:
    """The second file is the first, but for what a record says."""
    (old, old_tensors), (new, new_tensors) = before, after
    changed = {key for key in new.metadata if new.metadata[key] != old.metadata.get(key)}
    assert changed == set(wanted.get("metadata", ()))
    for key, entry in wanted.get("metadata", {}).items():
        assert same_value(new.metadata[key], entry), key
    assert old.metadata.keys() - new.metadata.keys() == set(wanted.get("metadata_gone", ()))
    assert old_tensors.keys() - new_tensors.keys() == set(wanted.get("tensors_gone", ()))
    assert {name: entry for name, entry in new_tensors.items() if entry != old_tensors.get(name)} == {
        tensor["name"]: described(tensor) for tensor in wanted.get("tensors", ())
    }


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    write_folder("bert", tmp_path / "bert")
    return tmp_path / "bert"


def json_change(path: str, **values: Any) -> dict[str, Any]:
    return {"op": "json", "path": path, "set": values}


def write(path: str, text: str) -> dict[str, Any]:
    return {"op": "write", "path": path, "text": text}


def header_change(**entry: Any) -> dict[str, Any]:
    return {"op": "header", "path": "model.safetensors", "set": {"embeddings.LayerNorm.weight": entry}}


REFUSED = {
    "no configuration": ({"op": "remove", "path": "config.json"}, "^open config.json: no such file"),
    "configuration is a list": (write("config.json", "[1]"), "^parse config.json: not an object$"),
    "configuration is nothing": (write("config.json", ""), "^parse config.json: "),
    "configuration is too deep": (write("config.json", "[" * 100_000), "^parse config.json: "),
    "configuration is no UTF-8": (
        {"op": "write", "path": "config.json", "base64": "//8="},
        "^parse config.json: ",
    ),
    "no architecture": (json_change("config.json", architectures=[]), "^unknown architecture$"),
    "architecture is null": (json_change("config.json", architectures=None), "^unknown architecture$"),
    "architecture is a text": (json_change("config.json", architectures="BertModel"), "a list of texts"),
    "another architecture": (
        json_change("config.json", architectures=["TinyForCausalLM"]),
        '^unsupported architecture "TinyForCausalLM"$',
    ),
    "case of the architecture": (
        json_change("config.json", architectures=["bertmodel"]),
        '^unsupported architecture "bertmodel"$',
    ),
    "fraction": (
        json_change("config.json", hidden_size=64.5),
        '^parse config.json for "BertModel": hidden_size must be a whole number, not 64.5$',
    ),
    "text for a number": (json_change("config.json", hidden_size="64"), "hidden_size must be a whole number"),
    "truth for a number": (json_change("config.json", hidden_size=True), "hidden_size must be a whole"),
    "negative": (json_change("config.json", hidden_size=-1), "hidden_size must be a whole number"),
    "above 32 bits": (json_change("config.json", hidden_size=1 << 32), "hidden_size must be a whole number"),
    "infinite": (
        write("config.json", '{"architectures": ["BertModel"], "hidden_size": 1e999}'),
        "hidden_size must be a whole number, not inf",
    ),
    "epsilon is a text": (json_change("config.json", layer_norm_eps="small"), "must be a number"),
    "epsilon above single precision": (json_change("config.json", layer_norm_eps=1e300), "must be a number"),
    "vocabulary without end": (json_change("config.json", vocab_size=4_000_000_000), "exceeds maximum"),
    "modules are no list": (write("modules.json", "{}"), "^parse modules.json: not a list of modules$"),
    "no tokenizer": ({"op": "remove", "path": "tokenizer.json"}, "^unknown tokenizer format$"),
    "vocabulary is a list": (
        json_change("tokenizer.json", model={"type": "Unigram", "vocab": [["a", -1.0]]}),
        "^parse tokenizer.json: vocab must be an object$",
    ),
    "giant token id": (
        json_change("tokenizer.json", model={"vocab": {"a": 1 << 40}}),
        "^parse tokenizer.json: bad id 1099511627776 of token 'a'$",
    ),
    "half a character": (
        write("tokenizer.json", r'{"model": {"vocab": {"\udc00": 0}}}'),
        "is not text",
    ),
    "no weights": ({"op": "remove", "path": "model.safetensors"}, "^unknown tensor format$"),
    "a shard is missing": (
        write("model.safetensors.index.json", '{"weight_map": {"x": "model-2.safetensors"}}'),
        "^model.safetensors.index.json names model-2.safetensors, which is missing$",
    ),
    "the same tensor twice": (
        {"op": "copy", "path": "model.safetensors", "to": "../bert/other.safetensors"},
        "^duplicate tensor name '.*' was found for this model$",
    ),
    "weights cut short": (
        {"op": "cut", "path": "model.safetensors", "keep": -1},
        "^model.safetensors: tensor .*: data offsets .* are outside",
    ),
    "header without end": (
        {"op": "length", "path": "model.safetensors", "value": 1 << 62},
        "^model.safetensors: header length 4611686018427387904 exceeds file size",
    ),
    "shape too large": (header_change(shape=[128]), "shape .128. of F32 takes 512 bytes, not 256$"),
    "five dimensions": (header_change(shape=[1, 1, 1, 1, 64]), "has more than 4 dimensions"),
    "whole numbers for weights": (header_change(dtype="I32"), "^unknown data type: I32"),
    "unheard-of type": (header_change(dtype="F12"), "unknown data type: F12"),
}  # fmt: skip


@pytest.mark.parametrize(("broken", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_broken_folder_is_refused_with_the_reason(
    bert: Path, tmp_path: Path, broken: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConversionFailed, match=message):
        convert(change(bert, [broken]), tmp_path / "out.gguf")
    assert [path.name for path in tmp_path.iterdir()] == ["bert"]


def test_weights_in_a_sub_folder_do_not_count(bert: Path, tmp_path: Path) -> None:
    files = change(bert, [])
    files["2_Dense/model.safetensors"] = files.pop("model.safetensors")
    with pytest.raises(ConversionFailed, match="^unknown tensor format$"):
        convert(files, tmp_path / "out.gguf")


def test_an_unsupported_architecture_says_what_to_do(bert: Path, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedArchitecture) as caught:
        convert(change(bert, [json_change("config.json", architectures=["X"])]), tmp_path / "out.gguf")
    assert caught.value.hint is not None


def test_whole_numbers_may_be_written_as_fractions(bert: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.gguf"
    convert(change(bert, [json_change("config.json", hidden_size=64.0)]), out)
    assert read_header(out).config.uint("embedding_length") == 64


def test_numbers_json_does_not_have_are_zero(bert: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.gguf"
    config = json.loads((bert / "config.json").read_text()) | {"note": math.nan, "low": -math.inf}
    convert(change(bert, [write("config.json", json.dumps(config))]), out)
    assert read_header(out).config.uint("embedding_length") == 64


def test_the_architecture_comes_first_and_the_other_keys_are_sorted(bert: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.gguf"
    convert(change(bert, []), out)
    first, *others = read_header(out).metadata
    assert first == "general.architecture"
    assert others == sorted(others)


def test_tensors_of_layers_come_first(bert: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.gguf"
    convert(change(bert, []), out)
    blocks = [tensor.block for tensor in read_header(out).tensors]
    assert blocks == sorted(blocks, key=lambda block: math.inf if block is None else block)


def test_progress_ends_at_the_total(bert: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.gguf"
    seen = list(convert_directory(change(bert, []), out))
    sizes = [tensor.size_bytes for tensor in read_header(out).tensors]
    assert seen == list(accumulate(sizes))


def test_a_conversion_can_be_ended_and_leaves_nothing(bert: Path, tmp_path: Path) -> None:
    with closing(convert_directory(change(bert, []), tmp_path / "out.gguf")) as conversion:
        assert next(conversion) > 0
    assert [path.name for path in tmp_path.iterdir()] == ["bert"]


def test_another_reader_understands_the_file(bert: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.gguf"
    convert(change(bert, []), out)
    reader = GGUFReader(out)
    header = read_header(out)
    assert [(tensor.name, tensor.shape.tolist(), tensor.data_offset) for tensor in reader.tensors] == [
        (tensor.name, list(tensor.shape), tensor.offset) for tensor in header.tensors
    ]
    assert list(header.metadata) == [key for key in reader.fields if not key.startswith("GGUF.")]
