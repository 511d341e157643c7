"""Making a model: from a plan to a manifest in the store, telling each step.

The work is plain synchronous code, a generator of steps; ``build`` runs it step by step in threads, and the
runs of llama-quantize that it asks for on the event loop. Source: ``modelfile`` §5.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import ExitStack, aclosing, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

from orchestrator.create.config import family_defaults, model_config
from orchestrator.create.convert.conversion import Conversion, convert_adapter_directory, convert_directory
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.errors import CreateFailed, CreateRefused
from orchestrator.create.parts import (
    VERIFYING,
    Part,
    Rewriting,
    is_safetensors,
    kind_of,
    needs_normal_form,
    parts_of,
    read_upload,
    rewriting_of,
)
from orchestrator.create.plan import (
    CreatePlan,
    ExistingModel,
    Files,
    RemoteModel,
    UploadedFiles,
    licenses_of,
)
from orchestrator.create.quantization import (
    Quantization,
    by_hand,
    by_program,
    check_by_hand,
    least_bytes,
    left_out,
    quantization_of,
)
from orchestrator.create.quantizer import (
    PLACEHOLDER_DIGEST,
    Quantizer,
    QuantizerRun,
    run_quantizer,
    source_file,
    written_by,
)
from orchestrator.create.rewrite import GgufFile, whole, with_tensors
from orchestrator.create.texts import layer_status, parameters_part, replaced, text_part
from orchestrator.domain.digests import Digest
from orchestrator.domain.names import ModelName
from orchestrator.domain.progress import Progress
from orchestrator.files.gguf import GgufConfig, read_header
from orchestrator.process.stepping import stepped
from orchestrator.store.blobs import StoredBlob
from orchestrator.store.canonical import canonical_json
from orchestrator.store.errors import disk_error
from orchestrator.store.layout import CONVERSION_PREFIX, make_directory
from orchestrator.store.manifests import StoredManifest
from orchestrator.store.messages import messages_json
from orchestrator.store.models import ModelStore
from orchestrator.store.reading import TEMPLATE_TYPES
from orchestrator.store.wire import Layer, Manifest, MediaType, ModelConfig
from orchestrator.templates.errors import TemplateSyntaxError
from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.templates.known import autodetect

Steps = Generator[Progress | QuantizerRun | None, None, None]
"""A ``QuantizerRun`` has been made when the next step is asked for. ``None`` is nothing to tell, but a place
to stop at when nobody wants the model any more."""

Convert = Callable[[Mapping[str, Path], Path], Conversion]
"""Makes a GGUF file of files by their names."""

STEP_BYTES = 64 << 20

GGUF_TYPES = frozenset({MediaType.MODEL, MediaType.PROJECTOR, MediaType.ADAPTER, MediaType.DRAFT})


class Pull(Protocol):
    """Fetches a model from its registry into the store."""

    def __call__(self, name: ModelName) -> AsyncGenerator[Progress, None]: ...


async def build(
    plan: CreatePlan, store: ModelStore, *, pull: Pull | None = None, quantizer: Quantizer | None = None
) -> AsyncGenerator[Progress, None]:
    """Make the model of ``plan``; the last step is told when it is there.

    Without a ``quantizer`` files get their form by hand, and not every quantization can be had. Raises
    ``ModelNotFound`` for a base that is not in the store when there is no ``pull``; also ``CreateRefused``,
    ``CreateFailed``, ``ConversionFailed``, ``MalformedGguf`` and ``StoreError``. Whatever is raised, the old
    model of that name is untouched.
    """
    base = plan.base
    if pull and isinstance(base, ExistingModel) and not await asyncio.to_thread(_is_there, store, base.name):
        async with aclosing(pull(base.name)) as pulling:
            async for told in pulling:
                yield told
    async with aclosing(stepped(_Build(plan, store, quantizer).steps())) as steps:
        async for step in steps:
            if isinstance(step, Progress):
                yield step
            elif isinstance(step, QuantizerRun):
                async with aclosing(run_quantizer(step)) as running:
                    async for told in running:
                        yield told


def _is_there(store: ModelStore, name: ModelName) -> bool:
    return store.layout.manifest(store.manifests.canonical(name)).exists()


class _Build:
    """One model on its way: the parts there are so far, in the order of the layers."""

    def __init__(self, plan: CreatePlan, store: ModelStore, quantizer: Quantizer | None) -> None:
        self._plan = plan
        self._store = store
        self._quantizer = quantizer
        self._blobs = store.blobs
        self._parts: list[Part] = []
        self._base_config = ModelConfig()

    def steps(self) -> Steps:
        with ExitStack() as temporaries:
            yield from self._take_base(temporaries)
            yield from self._take_adapters(temporaries)
            yield from self._take_drafts()
            self._check()
            for index in range(len(self._parts)):
                yield from self._settle(index)
        before = {part.layer.digest for part in self._parts}
        manifest = self._complete()
        for part in self._parts:
            yield Progress(part.status)
        yield Progress("writing manifest")
        self._store.replace_now(self._plan.name, manifest)
        self._store.release_now(before - {part.layer.digest for part in self._parts})
        yield Progress("success")

    def _take_base(self, temporaries: ExitStack) -> Steps:
        match self._plan.base:
            case RemoteModel():
                return
            case ExistingModel(name):
                self._take_model(self._store.manifests.read(self._store.manifests.canonical(name)))
            case UploadedFiles(files) if is_safetensors(self._blobs, files):
                yield Progress("converting model")
                yield from self._convert(files, temporaries, convert_directory)
                self._detect_template()
            case UploadedFiles(files):
                yield from self._take_gguf(files)
                self._detect_template()

    def _take_model(self, stored: StoredManifest) -> None:
        """All layers of another model, and its configuration."""
        self._base_config = self._store.reader.config(stored.manifest)
        for layer in stored.manifest.layers:
            digest = Digest.parse(layer.digest)
            self._blobs.touch(digest)
            files: tuple[GgufFile, ...] = ()
            if layer.media_type in GGUF_TYPES:
                files = (GgufFile.read(self._blobs.path(digest)),)
            inherited = layer.model_copy(update={"from_": stored.name.short})
            self._parts.append(Part(inherited, f"using existing layer {digest}", files))

    def _take_gguf(self, files: Files) -> Steps:
        uploads = []
        for name, digest in sorted(files.items()):
            yield Progress("parsing GGUF")
            uploads.append(read_upload(self._blobs, name, digest))
        if sum(upload.media_type is MediaType.ADAPTER for upload in uploads) > 1:
            raise CreateRefused("only one adapter is currently supported")
        self._parts += parts_of(uploads)

    def _take_adapters(self, temporaries: ExitStack) -> Steps:
        files = self._plan.adapters
        if files is None:
            return
        if is_safetensors(self._blobs, files):
            yield Progress("converting adapter")
            convert = partial(convert_adapter_directory, self._base_metadata())
            yield from self._convert(files, temporaries, convert)
            return
        if len(files) > 1:
            raise CreateRefused("only one adapter is currently supported")
        yield from self._take_gguf(files)

    def _take_drafts(self) -> Steps:
        for name, digest in sorted(self._plan.drafts.items()):
            if name.endswith(".safetensors"):
                raise CreateRefused("drafts in safetensors are not supported, convert them to GGUF first")
            yield Progress("parsing GGUF")
            upload = read_upload(self._blobs, name, digest)
            if upload.media_type is not MediaType.MODEL:
                kind = "an adapter" if upload.media_type is MediaType.ADAPTER else "a projector"
                raise CreateRefused(f"{name} is {kind}, not a draft model")
            self._parts += parts_of([replace(upload, media_type=MediaType.DRAFT)])

    def _base_metadata(self) -> GgufConfig:
        """What the weights that the model starts from say of themselves. Raises ``ConversionFailed``."""
        for part in self._parts:
            if part.media_type == MediaType.MODEL and part.header is not None:
                return part.header.config
        raise ConversionFailed("no base model was found")

    def _convert(self, files: Files, temporaries: ExitStack, convert: Convert) -> Steps:
        """Have ``convert`` make a GGUF file of safetensors; it is temporary until it is settled."""
        root = self._store.layout.root
        make_directory(root)
        try:
            directory = temporaries.enter_context(
                tempfile.TemporaryDirectory(prefix=CONVERSION_PREFIX, dir=root)
            )
            out = Path(directory) / "model.gguf"
            named = {name: self._blobs.path(Digest.parse(digest)) for name, digest in files.items()}
            yield from _with_stops(convert(named, out))
        except OSError as error:
            raise disk_error("open", Path(error.filename or root), error) from error
        header = read_header(out)
        layer = Layer(media_type=kind_of(header), size=header.size_bytes)
        self._parts.append(Part(layer, files=(GgufFile(out, header),), imported=True))

    def _detect_template(self) -> None:
        """A template for weights that carry a chat template we know."""
        for part in list(self._parts):
            if part.header is None or part.media_type not in (MediaType.MODEL, MediaType.PROJECTOR):
                continue
            known = autodetect(part.header.config.string("tokenizer.chat_template"))
            if known is None:
                continue
            template = text_part(self._blobs, MediaType.TEMPLATE, known.text.encode())
            self._parts.append(replace(template, status=f"using autodetected template {known.name}"))
            if known.parameters:
                self._parts.append(parameters_part(self._blobs, known.parameters))

    def _check(self) -> None:
        """Refuse what can be refused now that the base is known, before large files are written."""
        if self._plan.template:
            try:
                GoTemplate.parse(self._plan.template)
            except TemplateSyntaxError as error:
                raise CreateRefused(f"template error: {error}") from error
        try:
            licenses_of(self._plan.license)
        except TypeError as error:
            raise CreateFailed(str(error)) from error
        for part in self._parts:
            quantization = quantization_of(self._plan, part)
            if quantization is not None and self._quantizer is None:
                check_by_hand(quantization, part)

    def _settle(self, index: int) -> Steps:
        """Have a file in the store, in its final form."""
        part = self._parts[index]
        quantization = quantization_of(self._plan, part)
        if self._quantizer is not None and (quantization is not None or needs_normal_form(part)):
            yield from self._rewrite_by_program(index, self._quantizer, quantization)
        elif quantization is not None:
            yield from self._rewrite(index, by_hand(quantization, part))
        elif not part.imported:
            return
        elif (rewriting := rewriting_of(part)) is not None:
            yield from self._rewrite(index, rewriting)
        elif part.layer.digest:
            self._blobs.touch(Digest.parse(part.layer.digest))
            self._parts[index] = replace(part, status=f"using existing layer {part.layer.digest}")
        else:
            yield from self._rewrite(index, Rewriting(whole(part.files[0])))

    def _rewrite(self, index: int, rewriting: Rewriting) -> Steps:
        image, size_bytes = rewriting.image, self._parts[index].size_bytes
        if rewriting.before:
            yield Progress(rewriting.before)
        told = done = 0
        with self._blobs.file(size_bytes=image.size_bytes) as file:
            for chunk in image.chunks():
                file.write(chunk)
                done += len(chunk)
                if rewriting.during and done - told >= rewriting.told_bytes:
                    told = done
                    so_far = size_bytes * done // image.size_bytes
                    yield Progress(rewriting.during, PLACEHOLDER_DIGEST, size_bytes, so_far)
                elif done // STEP_BYTES > (done - len(chunk)) // STEP_BYTES:
                    yield None
            blob = file.commit()
        if rewriting.after:
            yield Progress(rewriting.after)
        self._rewritten(index, blob, rewriting.origin)

    def _rewrite_by_program(
        self, index: int, quantizer: Quantizer, quantization: Quantization | None
    ) -> Steps:
        """Let llama-quantize write the file: a copy, which checks it, or one of another type."""
        part = self._parts[index]
        paths = [file.path for file in part.files]
        with (
            self._blobs.file(size_bytes=least_bytes(part, quantization)) as file,
            source_file(paths, self._store.layout.blobs) as source,
        ):
            run = by_program(quantizer, part, quantization, source, file.path)
            yield run
            written = written_by(run)
            if quantization is not None and (added := left_out(part, written)):
                image = with_tensors(written, added)
                yield from self._rewrite(index, Rewriting(image, after=VERIFYING))
                return
            yield from _with_stops(file.absorb())
            blob = file.commit()
        yield Progress(VERIFYING)
        self._rewritten(index, blob)

    def _rewritten(self, index: int, blob: StoredBlob, origin: str = "") -> None:
        part = self._parts[index]
        layer = Layer(media_type=part.media_type, digest=str(blob.digest), size=blob.size_bytes, from_=origin)
        files = (GgufFile.read(self._blobs.path(blob.digest)),)
        self._parts[index] = replace(part, layer=layer, status=layer_status(blob), files=files)

    def _complete(self) -> Manifest:
        """Add the texts and the configuration."""
        config = model_config(self._plan, self._base_config, self._parts)
        self._add_texts()
        blob = self._blobs.put(canonical_json(config.to_json()))
        return Manifest(
            config=Layer(media_type=MediaType.CONFIG, digest=str(blob.digest), size=blob.size_bytes),
            layers=tuple(part.layer for part in self._parts),
        )

    def _add_texts(self) -> None:
        plan, blobs = self._plan, self._blobs
        if plan.template:
            part = text_part(blobs, MediaType.TEMPLATE, plan.template.encode("utf-8", "replace"))
            self._parts = replaced(self._parts, TEMPLATE_TYPES, part)
        if plan.system:
            part = text_part(blobs, MediaType.SYSTEM, plan.system.encode("utf-8", "replace"))
            self._parts = replaced(self._parts, (MediaType.SYSTEM,), part)
        for text in licenses_of(plan.license):
            self._parts.append(text_part(blobs, MediaType.LICENSE, text.encode("utf-8", "replace")))
        if parameters := self._parameters():
            self._parts = replaced(self._parts, (MediaType.PARAMS,), parameters_part(blobs, parameters))
        if plan.messages:
            part = text_part(blobs, MediaType.MESSAGES, canonical_json(messages_json(plan.messages)))
            self._parts = replaced(self._parts, (MediaType.MESSAGES,), part)

    def _parameters(self) -> dict[str, object]:
        """Those of the base, with the plan's and the family's stop words on top."""
        base = self._store.reader.parameters(Manifest(layers=tuple(part.layer for part in self._parts)))
        given = dict(self._plan.parameters)
        stop = family_defaults(self._parts).stop
        if stop and "stop" not in given:
            given["stop"] = base.get("stop", list(stop))
        return base | given


def _with_stops(work: Generator[int, None, None]) -> Steps:
    """Work that tells how many bytes are done, with a place to stop at now and then."""
    stopped_at = 0
    with closing(work):
        for done in work:
            if done - stopped_at >= STEP_BYTES:
                stopped_at = done
                yield None
