"""Making models: the steps told, the manifests and blobs written, and what is refused."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import struct
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from orchestrator.create.build import Pull, build
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.errors import CreateFailed, CreateRefused, QuantizerFailed, QuantizerUnavailable
from orchestrator.create.plan import CreateRequest, plan_create
from orchestrator.create.quantizer import Quantizer
from orchestrator.domain.digests import Digest
from orchestrator.domain.names import ModelName
from orchestrator.domain.progress import Progress
from orchestrator.domain.requests import Message
from orchestrator.errors import BadRequest, OrchestratorError, StoreError
from orchestrator.store.errors import ModelNotFound
from orchestrator.store.layout import StoreLayout
from orchestrator.store.models import ModelStore
from orchestrator.store.wire import Manifest
from tests.create.stand_in_quantizer import COPYING, command_lines, stand_in_quantizer
from tests.gguf_builder import Tensor, build_gguf
from tests.golden_records import Record, cases

Result = dict[str, Any]


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(StoreLayout(tmp_path / "models"))


def weights(architecture: str = "llama", file_type: int = 1) -> bytes:
    """A small GGUF file that llama.cpp's tool would rewrite."""
    keys = {
        "general.architecture": architecture,
        "general.file_type": file_type,
        f"{architecture}.block_count": 1,
    }
    tensors = [Tensor("token_embd.weight", (32, 8), "F16"), Tensor("blk.0.attn_q.weight", (32, 32), "F16")]
    return build_gguf(keys, tensors)


def upload(store: ModelStore, content: bytes) -> str:
    return str(store.blobs.put(content).digest)


def manifest_texts(store: ModelStore) -> dict[str, str]:
    root = store.layout.manifests
    return {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()}


def files_of(store: ModelStore) -> set[str]:
    return {path.name for path in store.layout.blobs.iterdir()}


def layers(store: ModelStore, name: str) -> list[tuple[str, str, str]]:
    """Kind, content and origin of each layer; of GGUF files the size."""
    manifest = store.manifests.read(ModelName.parse(name)).manifest
    rows = []
    for layer in manifest.layers:
        content = store.blobs.read(Digest.parse(layer.digest))
        shown = str(len(content)) if content.startswith(b"GGUF") else content.decode()
        rows.append((layer.media_type.rpartition(".")[2], shown, layer.from_))
    return rows


async def create(
    store: ModelStore,
    request: CreateRequest,
    *,
    pull: Pull | None = None,
    quantizer: Quantizer | None = None,
    on_step: Callable[[Progress], object] = lambda _: None,
) -> list[Progress]:
    steps = []
    async for step in build(plan_create(request), store, pull=pull, quantizer=quantizer):
        on_step(step)
        steps.append(step)
    return steps


def statuses(steps: list[Progress]) -> list[str]:
    """What was told, digests left out."""
    return [step.status.partition(" sha256:")[0] for step in steps]


def request_of(body: Mapping[str, Any]) -> CreateRequest:
    """A recorded request body."""
    return CreateRequest(
        model=body.get("model", ""),
        base=body.get("from", ""),
        remote_host=body.get("remote_host", ""),
        files=body.get("files"),
        adapters=body.get("adapters"),
        draft_files=body.get("draft_files"),
        quantize=body.get("quantize", ""),
        draft_quantize=body.get("draft_quantize", ""),
        template=body.get("template", ""),
        system=body.get("system", ""),
        license=body.get("license"),
        parameters=body.get("parameters", {}),
        messages=tuple(Message(entry["role"], entry["content"]) for entry in body.get("messages", ())),
        renderer=body.get("renderer", ""),
        parser=body.get("parser", ""),
        requires=body.get("requires", ""),
        info=body.get("info", {}),
    )


async def replay(store: ModelStore, body: Mapping[str, Any]) -> Result:
    """Lines and status as the HTTP layer writes them."""
    lines: list[Result] = []
    failure: OrchestratorError | None = None
    try:
        async for step in build(plan_create(request_of(body)), store):
            lines.append({"status": step.status})  # noqa: PERF401  # what was told before a failure counts
    except OrchestratorError as error:
        failure = error
    if body.get("stream") is False:
        lines = lines[-1:]
    status = 200
    if failure is not None:
        status = 200 if lines else 400 if isinstance(failure, BadRequest) else 500
        lines.append({"error": str(failure)})
    return {"status": status, "lines": lines}


@pytest.mark.parametrize("record", cases("manifests/create.jsonl") + cases("manifests/create_errors.jsonl"))
async def test_a_model_is_created_as_recorded(store: ModelStore, record: Record) -> None:
    given, wanted = record["in"], record["out"]
    for content in given.get("blobs", ()):
        async with store.blobs.writer() as writer:
            await writer.write(base64.b64decode(content))
            await writer.commit()
    results = [await replay(store, body) for body in given["creates"]]
    if "out.creates[].lines[].error" in record.get("free", ()):
        results, expected = _without_errors(results), _without_errors(wanted["creates"])
    else:
        expected = _with_paths(wanted["creates"], store)
    assert results == expected
    texts = manifest_texts(store)
    assert texts == {path: entry["text"] for path, entry in wanted.get("manifests", {}).items()}
    for path, entry in wanted.get("manifests", {}).items():
        assert hashlib.sha256(texts[path].encode()).hexdigest() == entry["sha256"]
    assert _described(store) == wanted.get("blobs", {})


def _described(store: ModelStore) -> dict[str, Any]:
    described: dict[str, Any] = {}
    for path in store.layout.blobs.iterdir() if store.layout.blobs.exists() else ():
        content = path.read_bytes()
        uploaded = {"size": len(content), "uploaded": True}
        described[path.name] = uploaded if content.startswith(b"GGUF") else content.decode()
    return described


def _without_errors(results: list[Result]) -> list[Result]:
    return [
        result | {"lines": [line if "status" in line else {"error": ""} for line in result["lines"]]}
        for result in results
    ]


def _with_paths(results: list[Result], store: ModelStore) -> list[Result]:
    return [
        result
        | {
            "lines": [
                {key: text.replace("<STORE>", str(store.layout.root)) for key, text in line.items()}
                for line in result["lines"]
            ]
        }
        for result in results
    ]


SUPPORTED = "supported types are F32, F16, Q4_K_S, Q4_K_M, Q8_0"
TEMPLATE = "{{ range .Messages }}{{ .Content }}{{ end }}"


@pytest.fixture
async def owl(store: ModelStore) -> ModelStore:
    """The store with a model of everything."""
    digest = await asyncio.to_thread(upload, store, weights())
    await create(
        store,
        CreateRequest(
            model="owl",
            files={"owl.gguf": digest},
            template=TEMPLATE,
            system="Hoot.",
            license=["MIT", "BSD"],
            parameters={"stop": ["x"], "top_k": 1},
            messages=(Message("user", "Hi"),),
            renderer="r",
            parser="p",
            requires="0.1.0",
            info={"capabilities": ["tools"]},
        ),
    )
    return store


async def test_a_derived_model_has_what_its_base_has(owl: ModelStore) -> None:
    steps = await create(owl, CreateRequest(model="owlet", base="OWL"))
    assert statuses(steps) == ["using existing layer"] * 7 + ["writing manifest", "success"]
    model = await owl.open(ModelName.parse("owlet"))
    base = await owl.open(ModelName.parse("owl"))
    assert model.config == base.config
    assert model.parent == "owl:latest"
    assert (model.system, model.licenses, model.messages) == (base.system, base.licenses, base.messages)


async def test_texts_replace_those_of_the_base_and_licenses_are_added(owl: ModelStore) -> None:
    await create(
        owl,
        CreateRequest(
            model="owlet",
            base="owl",
            template="{{ .Prompt }}",
            system="Screech.",
            license="GPL",
            parameters={"stop": ["y"], "seed": 2},
            messages=(Message("user", "Yo"),),
        ),
    )
    rows = await asyncio.to_thread(layers, owl, "owlet")
    assert [row[:2] for row in rows[1:]] == [
        ("license", "MIT"),
        ("license", "BSD"),
        ("template", "{{ .Prompt }}"),
        ("system", "Screech."),
        ("license", "GPL"),
        ("params", '{"seed":2,"stop":["y"],"top_k":1}\n'),
        ("messages", '[{"role":"user","content":"Yo"}]\n'),
    ]


async def test_empty_texts_leave_those_of_the_base(owl: ModelStore) -> None:
    await create(owl, CreateRequest(model="owlet", base="owl", template="", system="", license=""))
    model = await owl.open(ModelName.parse("owlet"))
    assert (model.template_text, model.system, model.licenses) == (TEMPLATE, "Hoot.", ("MIT", "BSD"))


async def test_what_was_only_used_by_the_replaced_model_goes(owl: ModelStore) -> None:
    before = files_of(owl)
    await create(owl, CreateRequest(model="Owl", base="owl", system="Screech."))
    model = await owl.open(ModelName.parse("owl"))
    assert model.system == "Screech."
    assert files_of(owl) - before == {model_layer(model.manifest, "system")}
    assert before - files_of(owl) == {Digest(hashlib.sha256(b"Hoot.").hexdigest()).file_name}


def model_layer(manifest: Manifest, kind: str) -> str:
    return next(
        Digest.parse(layer.digest).file_name for layer in manifest.layers if layer.media_type.endswith(kind)
    )


async def test_a_store_that_keeps_everything_keeps_it(tmp_path: Path) -> None:
    store = ModelStore(StoreLayout(tmp_path / "models"), prunes=False)
    digest = await asyncio.to_thread(upload, store, weights())
    for system in ("one", "two"):
        await create(store, CreateRequest(model="m", files={"m.gguf": digest}, system=system))
    assert Digest(hashlib.sha256(b"one").hexdigest()).file_name in files_of(store)


async def test_uploaded_weights_get_their_normal_form(store: ModelStore) -> None:
    digest = await asyncio.to_thread(upload, store, weights())
    steps = await create(store, CreateRequest(model="m", files={"m.gguf": digest}))
    assert statuses(steps) == [
        "parsing GGUF", "verifying conversion", "creating new layer", "writing manifest", "success",
    ]  # fmt: skip
    model = await store.open(ModelName.parse("m"))
    assert model.parent == ""
    header = await asyncio.to_thread(model.header)
    assert header.metadata["general.quantization_version"] == 2
    again = await create(store, CreateRequest(model="n", files={"m.gguf": digest}))
    assert statuses(again)[2] == "using existing layer"


async def test_the_shards_of_a_split_file_become_one(store: ModelStore) -> None:
    tensors = [
        Tensor(f"blk.{number}.attn_q.weight", (32, 32), "F16", bytes([number]) * 2048) for number in (0, 1)
    ]
    digests = {}
    for number, tensor in enumerate(tensors):
        keys = {"general.architecture": "llama", "general.file_type": 1, "llama.block_count": 2}
        shard = build_gguf(keys | {"split.no": number, "split.count": 2, "split.tensors.count": 2}, [tensor])
        digests[f"m-{number + 1:05}-of-00002.gguf"] = await asyncio.to_thread(upload, store, shard)
    steps = await create(store, CreateRequest(model="m", files=digests))
    assert statuses(steps)[:3] == ["parsing GGUF", "parsing GGUF", "verifying conversion"]
    model = await store.open(ModelName.parse("m"))
    header = await asyncio.to_thread(model.header)
    assert [tensor.name for tensor in header.tensors] == [tensor.name for tensor in tensors]
    assert not [key for key in header.metadata if "split" in key]
    assert model.config.model_type == "2K"


async def test_a_projector_without_a_type_gets_one(store: ModelStore) -> None:
    keys = {"general.architecture": "clip", "clip.has_vision_encoder": True, "clip.vision.block_count": 1}
    projector = build_gguf(keys, [Tensor("v.patch_embd.weight", (4, 4), "F16")])
    files = {
        "m.gguf": await asyncio.to_thread(upload, store, weights()),
        "mmproj.gguf": await asyncio.to_thread(upload, store, projector),
    }
    steps = await create(store, CreateRequest(model="m", files=files))
    assert "updating GGUF projector metadata" in statuses(steps)
    model = await store.open(ModelName.parse("m"))
    header = await asyncio.to_thread(model.projector_header)
    assert header is not None
    assert header.metadata["clip.projector_type"] == "mlp"
    assert "vision" in model.capabilities


async def test_adapters_and_drafts_follow_the_weights(store: ModelStore) -> None:
    adapter = build_gguf(
        {"general.architecture": "llama", "general.type": "adapter"},
        [Tensor("blk.0.attn_q.weight.lora_a", (32, 2), "F16")],
    )
    request = CreateRequest(
        model="m",
        files={"m.gguf": await asyncio.to_thread(upload, store, weights())},
        adapters={"a.gguf": await asyncio.to_thread(upload, store, adapter)},
        draft_files={"d.gguf": await asyncio.to_thread(upload, store, weights("qwen3"))},
        system="s",
    )
    await create(store, request)
    rows = await asyncio.to_thread(layers, store, "m")
    assert [(kind, origin) for kind, _, origin in rows] == [
        ("model", ""), ("adapter", "a.gguf"), ("draft", "d.gguf"), ("system", ""),
    ]  # fmt: skip
    model = await store.open(ModelName.parse("m"))
    assert model.config.draft is not None
    assert model.config.draft.to_json() == {"model_format": "gguf", "architecture": "qwen3"}
    assert model.files.facts.draft_architecture == "qwen3"
    assert len(model.files.adapters) == 1


async def test_stop_words_of_the_base_go_before_those_of_the_family(store: ModelStore) -> None:
    digest = await asyncio.to_thread(upload, store, weights("gemma4"))
    await create(store, CreateRequest(model="g", files={"g.gguf": digest}, parameters={"stop": ["x"]}))
    await create(store, CreateRequest(model="h", base="g"))
    assert (await store.open(ModelName.parse("h"))).parameters == {"stop": ["x"]}


async def test_a_model_file_found_by_its_content_needs_no_suffix(store: ModelStore) -> None:
    digest = await asyncio.to_thread(upload, store, weights())
    steps = await create(store, CreateRequest(model="m", files={"weights": digest}))
    assert statuses(steps)[-1] == "success"


@pytest.mark.parametrize(
    ("quantize", "error", "text"),
    [
        ("q9_9", CreateFailed, f"unsupported quantization type Q9_9 - {SUPPORTED}"),
        (
            "q4_k",
            QuantizerUnavailable,
            "llama-quantize unavailable: quantizing to Q4_K_M needs the native engine, which brings it; "
            "the embedded engine can make F32, F16, BF16 and Q8_0",
        ),
    ],
)  # fmt: skip
async def test_quantization_is_refused_clearly(
    owl: ModelStore, quantize: str, error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as refused:
        await create(owl, CreateRequest(model="m", base="owl", quantize=quantize))
    assert str(refused.value) == text


async def test_the_type_a_model_has_already_needs_no_quantizer(owl: ModelStore) -> None:
    steps = await create(owl, CreateRequest(model="m", base="owl", quantize="f16"))
    assert statuses(steps)[-1] == "success"


async def test_only_unquantized_models_can_be_quantized(store: ModelStore) -> None:
    digest = await asyncio.to_thread(upload, store, weights(file_type=15))
    with pytest.raises(CreateFailed, match="^quantization is only supported for F16, BF16 and F32 models$"):
        await create(store, CreateRequest(model="m", files={"m.gguf": digest}, quantize="q8_0"))
    request = CreateRequest(
        model="m", files={"m.gguf": digest}, draft_files={"d.gguf": digest}, draft_quantize="q8_0"
    )
    with pytest.raises(CreateFailed, match="^draft quantization requires .* draft model, got Q4_K_M$"):
        await create(store, request)


async def types_of(store: ModelStore, name: str) -> dict[str, str]:
    """File type, and the types of the tensors."""
    model = await store.open(ModelName.parse(name))
    header = await asyncio.to_thread(model.header)
    types = {tensor.name: tensor.type for tensor in header.tensors}
    return {"": model.config.file_type} | types


@pytest.mark.parametrize(
    ("quantize", "file_type", "kind"),
    [("q8_0", "Q8_0", "Q8_0"), ("F32", "unknown", "F32"), ("bf16", "BF16", "BF16")],
)
async def test_simple_types_are_made_without_a_quantizer(
    owl: ModelStore, quantize: str, file_type: str, kind: str
) -> None:
    steps = await create(owl, CreateRequest(model="m", base="owl", quantize=quantize))
    assert statuses(steps)[:2] == ["verifying conversion", "creating new layer"]
    assert await types_of(owl, "m") == {
        "": file_type, "token_embd.weight": kind, "blk.0.attn_q.weight": kind,
    }  # fmt: skip
    assert (await owl.open(ModelName.parse("m"))).parent == ""


async def test_the_base_of_a_quantized_model_stays_as_it_was(owl: ModelStore) -> None:
    before = files_of(owl)
    await create(owl, CreateRequest(model="m", base="owl", quantize="q8_0"))
    assert before <= files_of(owl)
    assert (await types_of(owl, "owl"))[""] == "F16"


async def test_drafts_have_a_type_of_their_own(store: ModelStore) -> None:
    request = CreateRequest(
        model="m",
        files={"m.gguf": await asyncio.to_thread(upload, store, weights())},
        draft_files={"d.gguf": await asyncio.to_thread(upload, store, weights("qwen3"))},
        draft_quantize="q8_0",
    )
    steps = await create(store, request)
    assert statuses(steps)[2:4] == ["verifying conversion"] * 2
    assert (await types_of(store, "m"))[""] == "F16"
    (draft,) = [row for row in await asyncio.to_thread(layers, store, "m") if row[0] == "draft"]
    assert draft[2] == ""
    assert int(draft[1]) < len(weights("qwen3"))


async def test_numbers_that_do_not_fit_end_the_work(store: ModelStore) -> None:
    keys = {"general.architecture": "llama", "general.file_type": 0}
    huge = struct.pack("<f", 1e9) * 64
    content = build_gguf(keys, [Tensor("blk.0.attn_q.weight", (32, 2), "F32", huge)])
    digest = await asyncio.to_thread(upload, store, content)
    before = files_of(store)
    request = CreateRequest(model="m", files={"m.gguf": digest}, quantize="f16")
    with pytest.raises(CreateFailed, match=r'^tensor "blk.0.attn_q.weight": .* too large for F16$'):
        await create(store, request)
    assert files_of(store) == before


async def test_quantizing_a_large_model_tells_how_far_it_is(store: ModelStore) -> None:
    digest = await asyncio.to_thread(large_weights, store)
    steps = await create(store, CreateRequest(model="m", files={"m.gguf": digest}, quantize="q8_0"))
    told = [step for step in steps if step.total_bytes]
    assert {(step.status, step.digest) for step in told} == {("quantizing F16 model to Q8_0", "0" * 19)}
    assert [step.completed_bytes * 100 // step.total_bytes for step in told] == [95]  # 64 of 68 MiB


def large_weights(store: ModelStore) -> str:
    """A model of 128 MiB that takes no room, under a digest that is not its own."""
    digest = Digest("1" * 64)
    store.layout.blobs.mkdir(parents=True, exist_ok=True)
    head = build_gguf(
        {"general.architecture": "llama", "general.file_type": 1},
        [Tensor("blk.0.attn_q.weight", (8192, 8192), "F16", b"")],
    )
    with store.blobs.path(digest).open("wb") as file:
        file.write(head)
        file.truncate(len(head) + -len(head) % 32 + 8192 * 8192 * 2)
    return str(digest)


# ---- with llama-quantize ----


async def test_the_program_copies_uploaded_weights(store: ModelStore, tmp_path: Path) -> None:
    quantizer = await asyncio.to_thread(stand_in_quantizer, tmp_path)
    digest = await asyncio.to_thread(upload, store, weights())
    steps = await create(store, CreateRequest(model="m", files={"m.gguf": digest}), quantizer=quantizer)
    assert [step.status for step in steps] == [
        "parsing GGUF", "verifying conversion", f"using existing layer {digest}", "writing manifest",
        "success",
    ]  # fmt: skip
    model = await store.open(ModelName.parse("m"))
    assert (model.parent, model.manifest.layers[0].digest) == ("", digest)
    ((*words, copied, written, kind),) = command_lines(quantizer)
    assert (words, kind) == (["--allow-requantize"], "COPY")
    assert copied == str(store.blobs.path(Digest.parse(digest)))
    assert Path(written).parent == store.layout.blobs
    await create(store, CreateRequest(model="n", base="m"), quantizer=quantizer)
    assert len(command_lines(quantizer)) == 1


async def test_the_program_gives_models_and_drafts_their_types(owl: ModelStore, tmp_path: Path) -> None:
    quantizer = await asyncio.to_thread(stand_in_quantizer, tmp_path)
    request = CreateRequest(
        model="m",
        base="owl",
        quantize="q4_k",
        draft_files={"d.gguf": await asyncio.to_thread(upload, owl, weights("gemma3n"))},
        draft_quantize="q4_k_s",
    )
    steps = await create(owl, request, quantizer=quantizer)
    assert statuses(steps)[:3] == ["parsing GGUF", "verifying conversion", "verifying conversion"]
    assert [line[-1] for line in command_lines(quantizer)] == ["Q4_K_M", "Q4_K_S"]
    assert command_lines(quantizer)[1][1:3] == ["--tensor-type", r"^per_layer_token_embd\.weight$=f16"]


async def test_the_program_joins_shards(store: ModelStore, tmp_path: Path) -> None:
    body = f'ls -1 "${{1%/*}}" > {tmp_path}/shards; {COPYING}'
    quantizer = await asyncio.to_thread(stand_in_quantizer, tmp_path, body)
    digests = {}
    for number in (0, 1):
        keys = {"general.architecture": "llama", "general.file_type": 1, "split.no": number, "split.count": 2}
        shard = build_gguf(keys, [Tensor(f"blk.{number}.attn_q.weight", (32, 32), "F16")])
        digests[f"odd/m-{number + 1:05}-of-00002.gguf"] = await asyncio.to_thread(upload, store, shard)
    before = files_of(store)
    await create(store, CreateRequest(model="m", files=digests), quantizer=quantizer)
    ((*_, first, _, kind),) = command_lines(quantizer)
    assert (Path(first).name, kind) == ("model-00001-of-00002.gguf", "COPY")
    shards = await asyncio.to_thread((tmp_path / "shards").read_text)
    assert shards.split() == ["model-00001-of-00002.gguf", "model-00002-of-00002.gguf"]
    assert not [name for name in files_of(store) - before if "split" in name]


async def test_tensors_for_pictures_that_the_program_drops_come_back(
    store: ModelStore, tmp_path: Path
) -> None:
    keys = {"general.architecture": "llama", "general.file_type": 1}
    language = Tensor("blk.0.attn_q.weight", (32, 32), "F16")
    picture = Tensor("v.patch_embd.weight", (4, 4), "F16", bytes(range(32)))
    smaller = Tensor("blk.0.attn_q.weight", (32, 32), "Q8_0")
    await asyncio.to_thread(
        (tmp_path / "smaller").write_bytes, build_gguf(keys | {"general.file_type": 7}, [smaller])
    )
    quantizer = await asyncio.to_thread(stand_in_quantizer, tmp_path, f'cp {tmp_path}/smaller "$2"')
    digest = await asyncio.to_thread(upload, store, build_gguf(keys, [picture, language]))
    request = CreateRequest(model="m", files={"m.gguf": digest}, quantize="q8_0")
    steps = await create(store, request, quantizer=quantizer)
    assert statuses(steps)[:2] == ["parsing GGUF", "verifying conversion"]
    assert await types_of(store, "m") == {
        "": "Q8_0", "blk.0.attn_q.weight": "Q8_0", "v.patch_embd.weight": "F16",
    }  # fmt: skip
    model = await store.open(ModelName.parse("m"))
    digest_written = Digest.parse(model.manifest.layers[0].digest)
    content = await asyncio.to_thread(store.blobs.read, digest_written)
    assert content.endswith(bytes(range(32)))


async def test_pictures_are_kept_as_they_are_when_nothing_is_quantized(
    store: ModelStore, tmp_path: Path
) -> None:
    quantizer = await asyncio.to_thread(stand_in_quantizer, tmp_path)
    content = build_gguf({"general.architecture": "llama"}, [Tensor("v.a.weight", (4, 4), "F16")])
    digest = await asyncio.to_thread(upload, store, content)
    await create(store, CreateRequest(model="m", files={"m.gguf": digest}), quantizer=quantizer)
    assert command_lines(quantizer) == []
    assert (await store.open(ModelName.parse("m"))).parent == "m.gguf"


async def test_marks_of_the_program_are_told_of_large_models(store: ModelStore, tmp_path: Path) -> None:
    marks = "; ".join(f"echo '[   {number}/   4] a.weight - [ 32, 32]'" for number in range(1, 5))
    small = await asyncio.to_thread(upload, store, weights())
    await asyncio.to_thread((tmp_path / "out").write_bytes, weights(file_type=7))
    quantizer = await asyncio.to_thread(stand_in_quantizer, tmp_path, f'{marks}; cp {tmp_path}/out "$2"')
    large = await asyncio.to_thread(large_weights, store)
    told = {}
    for digest in (small, large):
        request = CreateRequest(model="m", files={"m.gguf": digest}, quantize="q8_0")
        steps = await create(store, request, quantizer=quantizer)
        told[digest] = [step.completed_bytes * 4 / step.total_bytes for step in steps if step.total_bytes]
    assert told == {small: [], large: [2.0, 4.0]}


@pytest.mark.parametrize("quantize", ["", "q8_0"])
async def test_a_failing_program_leaves_nothing(store: ModelStore, tmp_path: Path, quantize: str) -> None:
    body = 'echo "bad model" >&2; printf half > "$2"; exit 1'
    quantizer = await asyncio.to_thread(stand_in_quantizer, tmp_path, body)
    digest = await asyncio.to_thread(upload, store, weights())
    before = files_of(store)
    request = CreateRequest(model="m", files={"m.gguf": digest}, quantize=quantize)
    with pytest.raises(QuantizerFailed, match="llama-quantize failed: exit status 1$"):
        await create(store, request, quantizer=quantizer)
    assert files_of(store) == before
    assert await store.list() == []


async def test_what_the_program_wrote_must_be_a_model(store: ModelStore, tmp_path: Path) -> None:
    quantizer = await asyncio.to_thread(stand_in_quantizer, tmp_path, ":")
    digest = await asyncio.to_thread(upload, store, weights())
    before = files_of(store)
    with pytest.raises(QuantizerFailed, match="what it wrote cannot be read"):
        await create(store, CreateRequest(model="m", files={"m.gguf": digest}), quantizer=quantizer)
    assert files_of(store) == before


async def test_the_program_ends_with_the_wish_for_the_model(store: ModelStore, tmp_path: Path) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    body = f'printf half > "$2"; echo $$ > {started}; exec tail -f /dev/null'
    quantizer = await asyncio.to_thread(stand_in_quantizer, tmp_path, body)
    digest = await asyncio.to_thread(upload, store, weights())
    before = files_of(store)
    async with asyncio.TaskGroup() as group:
        request = CreateRequest(model="m", files={"m.gguf": digest})
        making = group.create_task(create(store, request, quantizer=quantizer))
        number = int(await asyncio.to_thread(started.read_text))
        making.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)
    assert files_of(store) == before


async def test_a_failure_leaves_the_old_model(owl: ModelStore) -> None:
    before = await asyncio.to_thread(manifest_texts, owl)
    with pytest.raises(CreateRefused):
        await create(owl, CreateRequest(model="owl", base="owl", system="new", template="{{ .Prompt"))
    assert await asyncio.to_thread(manifest_texts, owl) == before


async def test_a_blob_that_vanished_meanwhile_leaves_the_old_model(owl: ModelStore) -> None:
    before = await asyncio.to_thread(manifest_texts, owl)
    request = CreateRequest(model="owl", base="owl", system="new")
    blob = owl.layout.blobs / model_layer((await owl.open(ModelName.parse("owl"))).manifest, "model")

    def vanish(step: Progress) -> None:
        if step.status == "writing manifest":
            blob.unlink()

    with pytest.raises(StoreError, match="no such file or directory"):
        await create(owl, request, on_step=vanish)
    assert await asyncio.to_thread(manifest_texts, owl) == before


async def test_a_client_that_leaves_leaves_nothing_half_written(store: ModelStore) -> None:
    digest = await asyncio.to_thread(upload, store, weights())
    before = files_of(store)
    async with aclosing(
        build(plan_create(CreateRequest(model="m", files={"m.gguf": digest})), store)
    ) as steps:
        async for step in steps:
            if step.status == "parsing GGUF":
                break
    assert files_of(store) == before
    assert await store.list() == []


async def test_an_absent_base_is_fetched(owl: ModelStore) -> None:
    async def pull(name: ModelName) -> AsyncGenerator[Progress, None]:
        yield Progress(f"pulling {name.short}")
        await owl.copy(ModelName.parse("owl"), name)

    steps = await create(owl, CreateRequest(model="m", base="mouse:1"), pull=pull)
    assert statuses(steps)[0] == "pulling mouse:1"
    assert statuses(steps)[-1] == "success"
    present = await create(owl, CreateRequest(model="m", base="mouse:1"), pull=pull)
    assert statuses(present)[0] == "using existing layer"


async def test_an_absent_base_that_cannot_be_fetched_is_not_found(store: ModelStore) -> None:
    with pytest.raises(ModelNotFound, match="^model 'mouse:1' not found$"):
        await create(store, CreateRequest(model="m", base="mouse:1"))


async def test_a_stub_can_be_derived_from(store: ModelStore) -> None:
    await create(store, CreateRequest(model="stub", base="far", remote_host="http://h:1"))
    await create(store, CreateRequest(model="stub2", base="stub", system="s"))
    model = await store.open(ModelName.parse("stub2"))
    assert (model.config.remote_host, model.config.remote_model) == ("http://h:1", "far")
    assert not model.has_weights


async def test_safetensors_without_a_configuration_are_refused(store: ModelStore) -> None:
    digest = await asyncio.to_thread(upload, store, b"hello")
    told: list[Progress] = []
    with pytest.raises(ConversionFailed):
        await create(
            store, CreateRequest(model="m", files={"model.safetensors": digest}), on_step=told.append
        )
    assert statuses(told) == ["converting model"]
    assert [path.name for path in store.layout.root.iterdir()] == ["blobs"]


async def test_a_draft_in_safetensors_is_refused(owl: ModelStore) -> None:
    files = {"a.safetensors": await asyncio.to_thread(upload, owl, b"hello")}
    with pytest.raises(CreateRefused, match="convert them to GGUF first"):
        await create(owl, CreateRequest(model="m", base="owl", draft_files=files))


async def test_an_adapter_that_cannot_be_converted_leaves_nothing(owl: ModelStore) -> None:
    files = {"a.safetensors": await asyncio.to_thread(upload, owl, b"hello")}
    with pytest.raises(ConversionFailed, match=r"^open adapter_config\.json"):
        await create(owl, CreateRequest(model="m", base="owl", adapters=files))
    assert not owl.layout.manifest(ModelName.parse("m")).exists()


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("adapter", "is an adapter, not a draft model"),
        ("mmproj", "is a projector, not a draft model"),
    ],
)
async def test_a_draft_of_another_kind_is_refused_before_it_is_stored(
    owl: ModelStore, kind: str, reason: str
) -> None:
    metadata = {"general.architecture": "llama", "general.name": "no owl", "general.type": kind}
    content = build_gguf(metadata, [Tensor("x", (32, 2))])
    files = {"a.gguf": await asyncio.to_thread(upload, owl, content)}
    request = CreateRequest(model="m", base="owl", draft_files=files)
    with pytest.raises(CreateRefused, match=reason):
        await create(owl, request)
    assert not owl.layout.manifest(ModelName.parse("m")).exists()
