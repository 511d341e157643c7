"""The parts of a model being made: which files they come from, and what is to be done to them.

Source: ``modelfile`` §5.3, §5.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.create.errors import CreateFailed, CreateRefused
from orchestrator.create.plan import Files
from orchestrator.create.rewrite import (
    FileImage,
    GgufFile,
    can_be_rewritten,
    joined,
    normal_form,
    with_text,
)
from orchestrator.domain.digests import Digest, InvalidDigest
from orchestrator.files.gguf import MAGICS, GgufHeader, TensorInfo, read_header
from orchestrator.store.blobs import BlobStore
from orchestrator.store.errors import disk_error
from orchestrator.store.wire import Layer, MediaType

MULTIMODAL_PREFIXES = ("a.", "mm.", "mtp.", "s.", "v.")
"""Of tensors that stand in the weights though they are no language model's: such files stay as they are."""

TOLD_BYTES = 1 << 30
"""Copying a file is told of when so much is written; smaller files are done before."""

VALIDATING = "validating GGUF model"
VERIFYING = "verifying conversion"

_PROJECTOR_TYPE_KEYS = ("clip.projector_type", "clip.vision.projector_type")
_SHARD_NAME = re.compile(r"(?P<prefix>.+)-(?P<index>\d{5})-of-(?P<count>\d{5})\.gguf")


@dataclass(frozen=True, slots=True)
class Part:
    """A layer of the model, and the GGUF files it comes from."""

    layer: Layer
    status: str = ""
    """What is told of it when the model is complete."""
    files: tuple[GgufFile, ...] = ()
    """One, or the shards of a split file; empty for texts."""
    imported: bool = False
    """It was uploaded or converted just now, so it is put into the store's form."""

    @property
    def media_type(self) -> str:
        return self.layer.media_type

    @property
    def header(self) -> GgufHeader | None:
        return self.files[0].header if self.files else None

    @property
    def size_bytes(self) -> int:
        """Size of the files."""
        return sum(file.header.size_bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded GGUF file."""

    name: str
    file: GgufFile
    digest: Digest
    media_type: MediaType


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A file that has to be written anew."""

    image: FileImage
    before: str = ""
    """Status when it starts; empty is none. Likewise the other two."""
    during: str = ""
    after: str = ""
    origin: str = ""
    """What the new layer says it came from."""
    told_bytes: int = TOLD_BYTES
    """How much must have been written since it was last told of."""


def is_safetensors(blobs: BlobStore, files: Files) -> bool:
    """Whether the files are a model in safetensors, or else GGUF. Raises ``CreateRefused`` if neither."""
    if any(name.endswith(".safetensors") for name in files):
        return True
    if any(name.endswith(".gguf") or _starts_like_gguf(blobs, digest) for name, digest in files.items()):
        return False
    raise CreateRefused("unknown type")


def read_upload(blobs: BlobStore, name: str, digest: str) -> Upload:
    """Look into an uploaded GGUF file.

    Raises ``InvalidDigest``, ``StoreError`` when it is not there, ``CreateRefused`` when it is something
    else, ``MalformedGguf``.
    """
    parsed = Digest.parse(digest)
    path = blobs.path(parsed)
    try:
        with path.open("rb") as file:
            magic = file.read(4)
        if magic not in MAGICS:
            raise CreateRefused("supplied file was not in GGUF format")
        header = read_header(path)
    except OSError as error:
        raise disk_error("open", path, error) from error
    return Upload(name, GgufFile(path, header), parsed, kind_of(header))


def kind_of(header: GgufHeader) -> MediaType:
    """What kind of layer a GGUF file makes."""
    if header.config.kind == "adapter":
        return MediaType.ADAPTER
    return MediaType.PROJECTOR if _is_projector(header) else MediaType.MODEL


def parts_of(uploads: Sequence[Upload]) -> tuple[Part, ...]:
    """One part per file, but the shards of a split file together. Raises ``CreateFailed``."""
    parts = []
    for group in _grouped(uploads):
        first = group[0]
        layer = Layer(
            media_type=first.media_type,
            digest=str(first.digest),
            size=first.file.header.size_bytes,
            from_=first.name,
        )
        parts.append(Part(layer, files=tuple(upload.file for upload in group), imported=True))
    return tuple(parts)


def is_multimodal(tensor: TensorInfo) -> bool:
    """Whether a tensor is there for pictures or sound."""
    return tensor.name.startswith(MULTIMODAL_PREFIXES)


def needs_normal_form(part: Part) -> bool:
    """Whether a file gets the form of llama.cpp: imported weights of a language model and of nothing else."""
    tensors = (tensor for file in part.files for tensor in file.header.tensors)
    return part.imported and part.media_type == MediaType.MODEL and not any(map(is_multimodal, tensors))


def rewriting_of(part: Part) -> Rewriting | None:
    """What has to be done by hand to an imported file; ``None`` if it can stay as it is."""
    header = part.header
    if not part.imported or header is None or not can_be_rewritten(header):
        return None
    if needs_normal_form(part):
        return Rewriting(normal_form(part.files), during=VALIDATING, after=VERIFYING)
    if len(part.files) > 1:
        return Rewriting(joined(part.files), origin=part.layer.from_)
    if part.media_type == MediaType.PROJECTOR and _lacks_projector_type(header):
        image = with_text(part.files[0], "clip.projector_type", "mlp")
        return Rewriting(image, before="updating GGUF projector metadata", origin=part.layer.from_)
    return None


def _starts_like_gguf(blobs: BlobStore, digest: str) -> bool:
    try:
        with blobs.path(Digest.parse(digest)).open("rb") as file:
            return file.read(4) in MAGICS
    except (InvalidDigest, OSError):
        return False


def _is_projector(header: GgufHeader) -> bool:
    config = header.config
    if config.kind in ("projector", "mmproj"):
        return True
    if config.uint("block_count"):
        return False
    has_encoder = config.bool("has_vision_encoder") or config.bool("has_audio_encoder")
    return config.uint("vision.block_count") > 0 or (config.architecture == "clip" and has_encoder)


def _lacks_projector_type(header: GgufHeader) -> bool:
    config = header.config
    return (
        config.architecture == "clip"
        and config.bool("has_vision_encoder")
        and not any(header.metadata.get(key) for key in _PROJECTOR_TYPE_KEYS)
    )


@dataclass(frozen=True, slots=True)
class _Shard:
    upload: Upload
    prefix: str
    index: int
    count: int


def _grouped(uploads: Iterable[Upload]) -> list[list[Upload]]:
    """Uploads in their order, each alone or with the other shards of its file behind the first."""
    groups: dict[tuple[str, str, int], list[_Shard]] = {}
    for upload in uploads:
        shard = _shard(upload)
        groups.setdefault((upload.media_type, shard.prefix, shard.count), []).append(shard)
    return [_complete(shards) for shards in groups.values()]


def _shard(upload: Upload) -> _Shard:
    """Where an upload belongs; a whole file is the only one of one."""
    count = _split_value(upload.file.header, "split.count") or 0
    if count <= 1:
        return _Shard(upload, upload.name, 0, 1)
    called = f'split GGUF "{upload.name}"'
    match = _SHARD_NAME.fullmatch(upload.name)
    if match is None:
        raise CreateFailed(f"{called} must use llama.cpp split filename pattern")
    if int(match["count"]) != count:
        raise CreateFailed(
            f"{called} filename count {int(match['count'])} does not match metadata count {count}"
        )
    number = _split_value(upload.file.header, "split.no")
    if number is None:
        raise CreateFailed(f"{called} is missing split.no metadata")
    index = int(match["index"]) - 1
    if index != number:
        raise CreateFailed(f"{called} filename index {index} does not match metadata index {number}")
    return _Shard(upload, match["prefix"], index, count)


def _complete(shards: Sequence[_Shard]) -> list[Upload]:
    """The shards of one file in order. Raises ``CreateFailed`` unless each is there once."""
    first, count = shards[0], shards[0].count
    by_index: dict[int, Upload] = {}
    for shard in shards:
        if not 0 <= shard.index < count:
            raise CreateFailed(f'split GGUF "{shard.upload.name}" has invalid shard index {shard.index}')
        if shard.index in by_index:
            raise CreateFailed(f"split GGUF has duplicate shard index {shard.index}")
        by_index[shard.index] = shard.upload
    if 0 not in by_index:
        raise CreateFailed("split GGUF is missing first shard")
    if len(by_index) != count:
        raise CreateFailed(f'split GGUF "{first.upload.name}" has {len(by_index)} shards, expected {count}')
    return [by_index[index] for index in range(count)]


def _split_value(header: GgufHeader, key: str) -> int | None:
    for name in (key, f"{header.config.architecture}.{key}"):
        value = header.metadata.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None
