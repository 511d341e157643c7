"""Pulls with parts so small, and a patience so short, that tests see all of it at once."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from orchestrator.domain.names import ModelName
from orchestrator.domain.progress import Progress
from orchestrator.registry.parts import PartSizes
from orchestrator.registry.patience import Patience
from orchestrator.registry.pull import Puller
from orchestrator.registry.registries import Registries
from orchestrator.registry.settings import RegistrySettings
from orchestrator.registry.transfer import TransferSettings
from orchestrator.store.models import ModelStore

SMALL_PARTS = PartSizes(share=4, least=64 << 10, most=1 << 20)
SHORT_PATIENCE = Patience(attempts=4, first_delay_s=0.01, longest_delay_s=0.05, longest_wait_s=5.0)


class Pulls:
    """Pulls into one store."""

    def __init__(self, store: ModelStore, settings: RegistrySettings) -> None:
        self.store = store
        self.settings = settings
        self.puller = self.other_puller()

    def other_puller(
        self,
        *,
        sizes: PartSizes = SMALL_PARTS,
        patience: Patience = SHORT_PATIENCE,
        stall_s: float = 30.0,
        connections: int = 16,
        bytes_per_second: int = 0,
        streams: int = 4,
    ) -> Puller:
        """One that shares nothing with ``puller`` but the store."""
        settings = TransferSettings(sizes, patience, stall_s, connections)
        return Puller(
            self.store,
            Registries(self.settings),
            settings=settings,
            bytes_per_second=bytes_per_second,
            streams=streams,
        )

    def steps(
        self, name: str, *, insecure: bool = True, puller: Puller | None = None
    ) -> AsyncGenerator[Progress, None]:
        return (puller or self.puller).pull(ModelName.parse(name), insecure=insecure)

    async def pull(self, name: str, *, insecure: bool = True, puller: Puller | None = None) -> list[Progress]:
        """Pull to the end; what was told."""
        async with aclosing(self.steps(name, insecure=insecure, puller=puller)) as steps:
            return [step async for step in steps]

    @property
    def blobs(self) -> Path:
        return self.store.layout.blobs

    def files(self) -> list[str]:
        return sorted(path.name for path in self.blobs.iterdir())

    def assert_sound(self) -> None:
        """Every file with a final name is what its name says."""
        for path in self.blobs.iterdir():
            if "-partial" not in path.name:
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                assert path.name == f"sha256-{content}"

    def has(self, content: bytes) -> bool:
        return (self.blobs / f"sha256-{hashlib.sha256(content).hexdigest()}").exists()
