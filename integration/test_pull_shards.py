"""A model whose weights are split is pulled as a set, and runs."""

from __future__ import annotations

from pathlib import Path

import gguf
import pytest

from integration.test_pull_resume import registry_in_a_thread
from integration.toy import get, post
from tests.http_replay.daemon import daemon_process
from tests.registry.hostile import Registry
from tests.sample_models import smollm2

SHARDS = 3


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """SmolLM2 in several files, as llama.cpp splits them: the first one has all that is said of the model."""
    folder = tmp_path_factory.mktemp("shards")
    reader = gguf.GGUFReader(smollm2())
    cut = -(-len(reader.tensors) // SHARDS)
    groups = [reader.tensors[start : start + cut] for start in range(0, len(reader.tensors), cut)]
    files = []
    for number, tensors in enumerate(groups):
        path = folder / f"{number}.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        if number == 0:
            _copy_metadata(reader, writer)
        writer.add_key_value("split.no", number, gguf.GGUFValueType.UINT16)
        writer.add_key_value("split.count", len(groups), gguf.GGUFValueType.UINT16)
        writer.add_key_value("split.tensors.count", len(reader.tensors), gguf.GGUFValueType.INT32)
        for tensor in tensors:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        files.append(path)
    return [Path(file).read_bytes() for file in files]


def _copy_metadata(reader: gguf.GGUFReader, writer: gguf.GGUFWriter) -> None:
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        kind = field.types[0]
        element = field.types[-1] if kind is gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=element)


# case B135
@pytest.mark.timeout(300)
def test_a_split_model_is_pulled_as_a_set_and_loaded(tmp_path: Path, shards: list[bytes]) -> None:
    registry = Registry()
    with registry_in_a_thread(registry), daemon_process(tmp_path) as daemon:
        name = registry.add("ns/split", shards[1], shards[0], *shards[2:])
        pulled = post(daemon.server, "/api/pull", {"model": name, "insecure": True, "stream": False})
        assert pulled.body == {"status": "success"}
        (listed,) = get(daemon.server, "/api/tags").body["models"]
        assert listed["details"]["family"] in ("", "llama")
        options = {"num_predict": 8, "temperature": 0, "num_ctx": 256}
        asked = {
            "model": name,
            "prompt": "One, two, three,",
            "raw": True,
            "stream": False,
            "options": options,
        }
        answer = post(daemon.server, "/api/generate", asked)
        assert answer.status == 200, answer.body
        assert "four" in answer.body["response"]
        (loaded,) = get(daemon.server, "/api/ps").body["models"]
        assert loaded["size"] > sum(map(len, shards)) // 2
