"""The GPUs an engine can use. Only the engine knows, so it is asked, once for each of its GPU variants.

Source: ``discovery-build`` §2.
"""

from __future__ import annotations

import logging
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from orchestrator.discovery.device_list import parse_device_list
from orchestrator.discovery.filters import (
    allowed,
    narrowing,
    numbered,
    one_library_each,
    one_variant_each,
    parse_architectures,
    supported,
)
from orchestrator.domain.devices import Device
from orchestrator.errors import words_of
from orchestrator.process.libraries import library_path

logger = logging.getLogger(__name__)

_FIRST_PATIENCE = timedelta(seconds=30)
_REFRESH_PATIENCE = timedelta(seconds=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedEngine:
    """The engine that is asked."""

    argv_prefix: Sequence[str]
    """How it is started."""
    cwd: Path
    library_dir: Path | None = None
    """Folder of its libraries; ``None`` where it needs none."""
    backends: Mapping[Path, Path] = field(default_factory=dict)
    """Folders of GPU variants, each with its first backend library."""
    environ: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class DeviceProbe:
    """Asks an engine for its devices. It blocks, so it is called in a thread."""

    engine: ProbedEngine
    integrated: bool | None = None
    """Whether integrated GPUs are used; ``None`` is those known to work well."""
    vulkan: bool = True
    variant: str = ""
    """The only GPU variant to be used, by the name of its folder."""
    _known: tuple[Device, ...] | None = None
    _compiled_for: dict[Path | None, frozenset[int]] = field(default_factory=dict)

    def devices(self) -> tuple[Device, ...]:
        """The usable GPUs and what is free on them. Without any, the engine is asked only once."""
        if self._known is None:
            if variables := narrowing(self.engine.environ):
                logger.warning("GPUs may be hidden by variables of the environment", extra=variables)
            self._known = self._ask_all(_FIRST_PATIENCE) or ()
        elif self._known:
            fresh = self._ask_all(_REFRESH_PATIENCE)
            if fresh is None:
                logger.warning("unable to refresh free memory, using old values")
            else:
                self._known = fresh
        return self._known

    def _ask_all(self, patience: timedelta) -> tuple[Device, ...] | None:
        """The devices of all variants; ``None`` if none of them answered."""
        answers = [self._ask(folder, patience) for folder in self._variants()]
        if all(answer is None for answer in answers):
            return None
        listed = (device for answer in answers for device in answer or ())
        wanted = allowed(one_variant_each(listed), integrated=self.integrated)
        return numbered(one_library_each(wanted), self.engine.environ)

    def _variants(self) -> Iterator[Path | None]:
        """Folders of variants, newest first; ``None`` is the engine without one."""
        if not self.engine.backends:
            yield None
        for folder in sorted(self.engine.backends, reverse=True):
            is_chosen = not self.variant or self.variant == folder.name
            if is_chosen and (self.vulkan or "vulkan" not in folder.name):
                yield folder

    def _ask(self, folder: Path | None, patience: timedelta) -> tuple[Device, ...] | None:
        """The devices of one variant; ``None`` if it does not answer."""
        try:
            answer = subprocess.run(
                # it lists and ends as soon as it has read the word, so that is the last one
                [*self.engine.argv_prefix, "--verbose", "--offline", "--list-devices"],
                env=self._environment(folder),
                cwd=self.engine.cwd,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=patience.total_seconds(),
                check=True,
            )
        except OSError as error:
            _note_silence(folder, words_of(error))
            return None
        except subprocess.SubprocessError as error:
            _note_silence(folder, str(error))
            return None
        devices = parse_device_list(answer.stdout, answer.stderr, library_path=self._folders(folder))
        if any(device.library == "CUDA" for device in devices):
            return supported(devices, self._architectures(folder))
        return devices

    def _architectures(self, folder: Path | None) -> frozenset[int]:
        """What the CUDA backend of a variant was compiled for."""
        if folder not in self._compiled_for:
            self._compiled_for[folder] = parse_architectures(self._system_info(folder))
        return self._compiled_for[folder]

    def _system_info(self, folder: Path | None) -> str:
        """The line in which an engine tells its features, as it does whenever it starts."""
        with subprocess.Popen(
            [*self.engine.argv_prefix, "--port", "0", "--offline", "--verbose"],
            env=self._environment(folder),
            cwd=self.engine.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        ) as process:
            watchdog = threading.Timer(_FIRST_PATIENCE.total_seconds(), process.kill)
            watchdog.start()
            try:
                return next((line for line in process.stderr or () if "system_info:" in line), "")
            finally:
                watchdog.cancel()
                process.kill()

    def _folders(self, variant: Path | None) -> tuple[str, ...]:
        return tuple(str(path) for path in (self.engine.library_dir, variant) if path is not None)

    def _environment(self, variant: Path | None) -> dict[str, str]:
        env = dict(self.engine.environ)
        if folders := self._folders(variant):
            env |= library_path(folders, env)
        if variant is not None:
            env["GGML_BACKEND_PATH"] = str(self.engine.backends[variant])
        return env


def _note_silence(folder: Path | None, why: str) -> None:
    logger.warning("engine does not list its devices", extra={"folder": folder, "error": why})
