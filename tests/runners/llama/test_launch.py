"""Command lines and environments of engines: as recorded, from the model in the store to the arguments."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.api.native.convert import to_create
from orchestrator.config import Config
from orchestrator.create.build import build
from orchestrator.create.plan import plan_create
from orchestrator.discovery.filters import numbered, supported
from orchestrator.domain.devices import Device, SystemMemory
from orchestrator.domain.loads import RANK_POOLING, LoadSpec, ModelFacts, ModelFiles
from orchestrator.domain.names import ModelName
from orchestrator.domain.options import Options
from orchestrator.inference.path import choose_path
from orchestrator.inference.prepare import Defaults, load_spec
from orchestrator.process.address import Address, TcpAddress, UnixAddress
from orchestrator.runners.base import LoadOrder
from orchestrator.runners.engines import EngineInfo, embedded_engine, native_engine
from orchestrator.runners.llama.launch import EngineSettings, Launch, media_marker, plan_launch
from orchestrator.scheduler.admission import plan_load
from orchestrator.scheduler.events import Measured
from orchestrator.scheduler.memory import context_tier
from orchestrator.scheduler.settings import SchedulerSettings
from orchestrator.store.layout import StoreLayout
from orchestrator.store.model import Model
from orchestrator.store.models import ModelStore
from orchestrator.wire import native as wire
from tests.golden_records import FOLDER, Record, records

MIB = 1 << 20
GIB = 1 << 30
MARKER = media_marker("0" * 32)
ADDRESS = UnixAddress(Path("/run/1.sock"))

ARCHITECTURES = frozenset({750, 800, 860, 890, 900, 1200})
"""What the recorded engine's CUDA backend was compiled for."""

FREE = {"--host", "--port", "--no-webui", "--no-ui", "--offline"}
FREE |= {"--log-verbosity", "--no-log-prefix", "--no-log-timestamps"}
"""Flags whose presence and value do not count."""
OWN = {"--metrics", "--cache-ram", "--fit", "--no-warmup"}
"""Flags that are ours."""
ALIASES = {"--ctx-size": "-c", "--parallel": "-np", "--threads": "-t", "--gpu-layers": "-ngl"}


def flags(argv: Sequence[str]) -> list[tuple[str, ...]]:
    """``argv`` as flags with their values, sorted."""
    found: list[list[str]] = []
    for word in argv:
        is_flag = word.startswith("-") and not word[1:2].isdigit()
        if is_flag:
            found.append([ALIASES.get(word, word)])
        else:
            found[-1].append(word)
    return sorted(tuple(flag) for flag in found if flag[0] not in FREE)


class Library:
    """A folder with an engine and its GPU variants."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "cuda_v13").mkdir()
        (folder / "cuda_v13" / "libggml-cuda.so").touch()
        (folder / "cuda_v13" / "libggml-base.so").touch()
        (folder / "llama-server").write_bytes(b"\x7fELF")
        self.engine: EngineInfo = native_engine(folder / "llama-server")

    def device(self, recorded: Mapping[str, Any]) -> Device:
        major, minor = recorded["cc"].split(".")
        return Device(
            library="CUDA",
            id=str(recorded["index"]),
            name=f"{recorded['name']}{recorded['index']}",
            description=recorded["desc"],
            total_bytes=recorded["total"] * MIB,
            free_bytes=recorded["free"] * MIB,
            compute=(int(major), int(minor)),
            library_path=(str(self.folder), str(self.folder / recorded["variant"])),
        )


class World:
    """The recorded models, in a store."""

    def __init__(self, folder: Path) -> None:
        self.store = ModelStore(StoreLayout(folder))
        self._world = json.loads((FOLDER / "engine/world.json").read_text())
        self._paths: dict[str, str] = {}
        for name, blob in self._world["blobs"].items():
            content = gzip.decompress(base64.b64decode(blob["gzip_base64"]))
            digest = self.store.blobs.put(content).digest
            self._paths[f"$BLOB/{name}"] = str(self.store.layout.blob(digest))
        self._made: set[str] = set()

    async def model(self, name: str) -> Model:
        if name not in self._made:
            self._made.add(name)
            body = wire.CreateRequest.model_validate(self._world["models"][name])
            async with aclosing(build(plan_create(to_create(body)), self.store)) as steps:
                async for _ in steps:
                    pass
        return await self.store.open(ModelName.parse(name))

    def path(self, word: str, model: Model) -> str:
        """The path that stands behind ``$BLOB/NAME``; other words are left alone.

        An imported file may be kept in another form, so the weights are found by their role.
        """
        is_weights = word.removeprefix("$BLOB/") in self._world["models"][model.name.model]["files"]
        if is_weights and not word.removeprefix("$BLOB/").startswith("proj"):
            return str(model.files.weights)
        return self._paths.get(word, word)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(tmp_path_factory.mktemp("lib"))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("models"))


def recorded_launches() -> Iterator[Any]:
    """Records of one request that starts one engine."""
    for record in records("engine/launch.jsonl"):
        for step in record["steps"]:
            if "request" in step and len(step.get("launches", ())) == 1:
                yield pytest.param(record, step, id=record["id"])
                break


def listed(record: Record, environ: Mapping[str, str], library: Library) -> Sequence[Device]:
    """The devices an engine lists: it sees those the user lets it see, and counts them from 0."""
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    return [
        replace(library.device(device), id=str(place))
        for place, device in enumerate(
            device
            for device in record.get("devices", ())
            if visible is None or str(device["index"]) in visible.split(",")
        )
    ]


async def launch_of(record: Record, step: Mapping[str, Any], world: World, library: Library) -> Launch:
    """What we plan for the step, alone on the machine."""
    masked = {name: text.replace("$LIB", str(library.folder)) for name, text in record.get("env", {}).items()}
    config = Config.from_environ(masked)
    devices = numbered(supported(listed(record, masked, library), ARCHITECTURES), masked)
    body = step["request"].get("json") or {}
    model = await world.model(record["world"][0])
    window = config.context_length or context_tier(devices, overhead_bytes=config.gpu_overhead)
    spec = load_spec(
        model,
        {} if step["request"]["path"].startswith("/v1") else body.get("options") or {},
        Defaults(window, ctx_auto=not config.context_length),
        shift=body.get("shift"),
        rendered=choose_path(model, config.go_template).rendered,
    )
    settings = SchedulerSettings(
        parallel=max(config.num_parallel, 1), spread=config.sched_spread, kv_cache_type=config.kv_cache_type
    )
    order = plan_load(spec, settings, Measured(0, None, devices), ())
    assert isinstance(order, LoadOrder)
    return plan_launch(
        order,
        EngineSettings(
            environ=masked, flash_attention=config.flash_attention, kv_cache_type=config.kv_cache_type
        ),
        library.engine,
        address=ADDRESS,
        media_marker=MARKER,
        link_dir=Path("/run"),
    )


@pytest.mark.parametrize(("record", "step"), list(recorded_launches()))
async def test_recorded_launches_are_planned_alike(
    record: Record, step: Mapping[str, Any], world: World, library: Library
) -> None:
    launch = await launch_of(record, step, world, library)
    recorded = step["launches"][0]
    without = {
        word for path, words in record.get("right", {}).items() if path.endswith("_without") for word in words
    }
    model = await world.model(record["world"][0])
    argv = [world.path(word, model) for word in recorded["argv"]]
    expected = [flag for flag in flags(argv) if flag[0] not in without]
    assert launch.argv[0] == str(library.folder / "llama-server")
    planned = flags(launch.argv[1:])
    assert [flag for flag in planned if flag[0] not in OWN] == expected

    names = recorded["env"].keys() - without - {"LLAMA_ARG_FIT_TARGET"} | record.get("env", {}).keys()
    for name in names - without:
        wanted = recorded["env"].get(name)
        if isinstance(wanted, list):
            assert launch.env[name].split(":") == [unmasked(text, library) for text in wanted]
        elif name == "LLAMA_MEDIA_MARKER":
            assert launch.env[name] == MARKER
        elif wanted is not None:
            assert launch.env[name] == unmasked(wanted, library)
    assert not without & launch.env.keys()
    for name in ("CUDA_VISIBLE_DEVICES", "GGML_BACKEND_PATH"):
        assert (name in launch.env) == (name in recorded["env"])


def unmasked(text: str, library: Library) -> str:
    return text.replace("$LIB", str(library.folder))


# ---- what the records do not cover ----


def planned(
    *,
    engine: EngineInfo | None = None,
    facts: ModelFacts | None = None,
    files: Mapping[str, Any] | None = None,
    options: Options | None = None,
    batch_auto: bool = True,
    settings: EngineSettings | None = None,
    address: Address = ADDRESS,
    projector_on_cpu: bool = False,
    **order: Any,
) -> Launch:
    model = ModelFiles(key="k", name="toy", digest="", weights=Path("/w.gguf"), facts=facts or ModelFacts())
    spec = LoadSpec(
        files=replace(model, **(files or {})), options=options or Options(num_ctx=4096), batch_auto=batch_auto
    )
    return plan_launch(
        LoadOrder(spec=spec, **order),
        settings or EngineSettings(),
        engine or embedded_engine(),
        address=address,
        media_marker=MARKER,
        link_dir=Path("/run"),
        projector_on_cpu=projector_on_cpu,
    )


def value(launch: Launch, flag: str) -> str | None:
    """What stands behind ``flag``; ``None`` if it is not there."""
    return launch.argv[launch.argv.index(flag) + 1] if flag in launch.argv else None


GPU = Device(library="CUDA", id="0", name="CUDA0", total_bytes=16 * GIB, free_bytes=14 * GIB, compute=(8, 9))


@pytest.mark.parametrize(
    ("predicted", "available", "ctx", "batch"),
    [
        (8 * GIB, 14 * GIB, 262144, 2048),
        (9 * GIB, 14 * GIB, 262144, 1024),
        (8 * GIB, 11 * GIB, 262144, 1024),
        (8500 * MIB, 11 * GIB, 32768, 512),
        (0, 0, 262144, 2048),
    ],
)
def test_the_batch_is_the_largest_that_fits(predicted: int, available: int, ctx: int, batch: int) -> None:
    launch = planned(
        options=Options(num_ctx=ctx), devices=(GPU,), predicted_bytes=predicted, available_bytes=available
    )
    assert launch.options.num_batch == batch
    assert value(launch, "-b") == value(launch, "-ub") == str(batch)


@pytest.mark.parametrize(("free", "batch"), [(6 * GIB, 256), (14 * GIB, 512)])
def test_without_flash_attention_a_cuda_device_gets_a_small_batch(free: int, batch: int) -> None:
    launch = planned(
        options=Options(num_ctx=8192),
        devices=(replace(GPU, free_bytes=free),),
        settings=EngineSettings(flash_attention=False),
    )
    assert launch.options.num_batch == batch


@pytest.mark.parametrize(
    ("device", "flash_attention"),
    [
        (GPU, "auto"),
        (replace(GPU, compute=(5, 2)), "off"),
        (replace(GPU, compute=(7, 2)), "off"),
        (replace(GPU, driver_major=6), "off"),
        (replace(GPU, library="Vulkan", compute=(0, 0)), "auto"),
        (replace(GPU, library="SYCL"), "off"),
    ],
)
def test_flash_attention_is_off_where_a_device_cannot_do_it(device: Device, flash_attention: str) -> None:
    assert value(planned(devices=(device,)), "--flash-attn") == flash_attention


def test_files_are_not_mapped_on_the_cpu_unless_the_user_wants_it() -> None:
    launch = planned()
    assert value(launch, "--load-mode") == "none"
    assert launch.mmap_auto
    assert launch.options.use_mmap is False
    wanted = planned(options=Options(num_ctx=4096, use_mmap=True))
    assert value(wanted, "--load-mode") is None
    assert not wanted.mmap_auto


@pytest.mark.parametrize(("free", "mode"), [(9 * 10**9, "none"), (20 * GIB, None)])
def test_files_are_not_mapped_where_the_host_is_short_of_memory(free: int, mode: str | None) -> None:
    launch = planned(
        facts=ModelFacts(size_bytes=4 * GIB),
        devices=(GPU,),
        predicted_bytes=5 * GIB,
        available_bytes=14 * GIB,
        memory=SystemMemory(32 * GIB, free),
    )
    assert value(launch, "--load-mode") == mode


def test_an_integrated_gpu_reads_files_directly() -> None:
    assert value(planned(devices=(replace(GPU, integrated=True),)), "--load-mode") == "dio"


@pytest.mark.parametrize(
    ("options", "device", "offloaded"),
    [
        (Options(num_ctx=4096), None, True),
        (Options(num_ctx=4096, num_gpu=0), None, False),
        (Options(num_ctx=4096, num_gpu=2), None, False),
        (Options(num_ctx=4096, num_gpu=3), None, True),
        (Options(num_ctx=4096), GPU, True),
        (Options(num_ctx=4096), replace(GPU, free_bytes=GIB), False),
    ],
)
def test_a_projector_goes_where_there_is_room(
    options: Options, device: Device | None, offloaded: bool
) -> None:
    launch = planned(
        facts=ModelFacts(block_count=2, projector_bytes=MIB),
        files={"projectors": (Path("/p.gguf"), Path("/second.gguf"))},
        options=options,
        devices=(device,) if device else (),
    )
    assert value(launch, "--mmproj") == "/p.gguf"
    assert ("--no-mmproj-offload" not in launch.argv) == launch.projector_on_gpu == offloaded


def test_a_second_try_keeps_the_projector_off_the_gpu() -> None:
    launch = planned(files={"projectors": (Path("/p.gguf"),)}, projector_on_cpu=True)
    assert "--no-mmproj-offload" in launch.argv
    assert not launch.projector_on_gpu


@pytest.mark.parametrize(
    ("address", "own"), [(UnixAddress(Path("/run/7.sock")), "7"), (TcpAddress(8123), "8123")]
)
def test_split_weights_are_linked_by_the_names_they_are_found_by(address: Address, own: str) -> None:
    launch = planned(files={"shards": (Path("/x"), Path("/y"))}, address=address)
    assert launch.links == {
        Path(f"/run/weights-{own}-00001-of-00003.gguf"): Path("/w.gguf"),
        Path(f"/run/weights-{own}-00002-of-00003.gguf"): Path("/x"),
        Path(f"/run/weights-{own}-00003-of-00003.gguf"): Path("/y"),
    }
    assert value(launch, "--model") == f"/run/weights-{own}-00001-of-00003.gguf"


def test_an_adapter_whose_name_holds_a_comma_is_linked() -> None:
    launch = planned(files={"adapters": (Path("/a.gguf"), Path("/b,c.gguf"))})
    assert launch.links == {Path("/run/adapter-1.gguf"): Path("/b,c.gguf")}
    given = [launch.argv[at + 1] for at, word in enumerate(launch.argv) if word == "--lora"]
    assert given == ["/a.gguf", "/run/adapter-1.gguf"]


def test_threads_of_the_user_win_over_those_of_the_scheduler() -> None:
    assert value(planned(threads=2), "-t") == "2"
    assert value(planned(threads=2, options=Options(num_ctx=4096, num_thread=7)), "-t") == "7"
    limited = EngineSettings(threads=3)
    assert value(planned(settings=limited), "-t") == "3"
    assert value(planned(settings=limited, threads=2), "-t") == "2"
    assert value(planned(), "-t") is None


@pytest.mark.parametrize(
    ("total", "setting", "size"),
    [(16 * GIB, None, "2048"), (256 * GIB, None, "8192"), (16 * GIB, 0, "0"), (None, None, None)],
)
def test_the_prompt_cache_is_bounded_by_the_machine(
    total: int | None, setting: int | None, size: str | None
) -> None:
    memory = None if total is None else SystemMemory(total, total)
    launch = planned(memory=memory, settings=EngineSettings(prompt_cache_mib=setting))
    assert value(launch, "--cache-ram") == size


def test_embedding_models_get_no_prompt_cache_and_no_other_cache_type() -> None:
    launch = planned(facts=ModelFacts(pooling_type=1), settings=EngineSettings(kv_cache_type="q8_0"))
    assert value(launch, "--cache-ram") == "0"
    assert value(launch, "--cache-type-k") is None
    assert "--embedding" in launch.argv


def test_models_with_rank_pooling_are_started_as_rerankers() -> None:
    argv = planned(facts=ModelFacts(pooling_type=RANK_POOLING)).argv
    assert "--reranking" in argv
    assert "--embedding" not in argv


@pytest.mark.parametrize("kind", ["q3_0", "nonsense"])
def test_an_unknown_cache_type_is_left_out(kind: str) -> None:
    assert value(planned(settings=EngineSettings(kv_cache_type=kind)), "--cache-type-k") is None


def test_a_port_is_given_where_there_is_no_socket() -> None:
    launch = planned(address=TcpAddress(4711))
    assert (value(launch, "--host"), value(launch, "--port")) == ("127.0.0.1", "4711")
    assert value(planned(), "--host") == "/run/1.sock"
    assert value(planned(), "--port") is None


def test_the_embedded_engine_inherits_the_library_path_as_it_is() -> None:
    environ = {"LD_LIBRARY_PATH": "/a", "LLAMA_ARG_PORT": "1", "HOME": "/h"}
    launch = planned(settings=EngineSettings(environ=environ))
    ours = {"GOMP_SPINCOUNT": "10000", "LLAMA_MEDIA_MARKER": MARKER}
    assert launch.env == {"LD_LIBRARY_PATH": "/a", "HOME": "/h", **ours}


def test_fitting_to_devices_is_left_out_where_there_are_none() -> None:
    assert value(planned(), "--fit") == "off"
    assert value(planned(devices=(GPU,)), "--fit") is None


def test_media_markers_have_the_form_of_ollamas() -> None:
    assert media_marker("0123456789abcdef" * 2) == "<__ollama_media_0123456789abcdef0123456789abcdef__>"
