"""The machine as the scheduler asks for it: main memory, and the GPUs an engine can use.

Which GPUs are usable only the engine knows, so it is asked, once for each of its GPU variants.

Source: ``discovery-build`` §2.
"""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from orchestrator.discovery.device_list import parse_device_list
from orchestrator.discovery.snapshot import system_memory
from orchestrator.domain.devices import Device, SystemMemory

logger = logging.getLogger(__name__)

_FIRST_PATIENCE = timedelta(seconds=30)
_REFRESH_PATIENCE = timedelta(seconds=3)


@dataclass(slots=True)
class MachineProbe:
    """Measures the machine. Methods block, so they are called in a thread."""

    argv_prefix: Sequence[str]
    """How the engine is started."""
    library_dir: Path | None = None
    """Folder of its libraries; ``None`` where it needs none."""
    backends: Mapping[Path, Path] = field(default_factory=dict)
    """Folders of GPU variants, each with its first backend library."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    cwd: Path | None = None
    _known: tuple[Device, ...] | None = None

    def system(self) -> SystemMemory | None:
        """Main memory."""
        return system_memory()

    def devices(self) -> tuple[Device, ...]:
        """The usable GPUs and what is free on them. Without any, the engine is asked only once."""
        if self._known is None:
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
        answers = [self._ask(variant, patience) for variant in self._variants()]
        if all(answer is None for answer in answers):
            return None
        return tuple(device for answer in answers for device in answer or ())

    def _variants(self) -> Iterator[Path | None]:
        if self.backends:
            yield from self.backends
        else:
            yield None

    def _ask(self, variant: Path | None, patience: timedelta) -> tuple[Device, ...] | None:
        folders = tuple(str(folder) for folder in (self.library_dir, variant) if folder is not None)
        env = dict(self.environ)
        if folders:
            inherited = env.get("LD_LIBRARY_PATH", "").split(":")
            env["LD_LIBRARY_PATH"] = ":".join(dict.fromkeys(filter(None, (*folders, *inherited))))
        if variant is not None:
            env["GGML_BACKEND_PATH"] = str(self.backends[variant])
        try:
            answer = subprocess.run(
                [*self.argv_prefix, "--list-devices", "--offline", "--verbose"],
                env=env,
                cwd=self.cwd or self.library_dir,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=patience.total_seconds(),
                check=True,
            )
        except (OSError, subprocess.SubprocessError) as error:
            logger.warning("engine does not list its devices", extra={"folder": variant, "error": str(error)})
            return None
        return parse_device_list(answer.stdout, answer.stderr, library_path=folders)
