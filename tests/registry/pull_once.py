"""``python -m tests.registry.pull_once STORE NAME PART_BYTES``: a process that pulls, and may be killed."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path

from orchestrator.domain.names import ModelName
from orchestrator.registry.parts import PartSizes
from orchestrator.registry.pull import Puller
from orchestrator.registry.registries import Registries
from orchestrator.registry.settings import RegistrySettings
from orchestrator.registry.transfer import TransferSettings
from orchestrator.store.layout import StoreLayout
from orchestrator.store.models import ModelStore


async def pull(folder: Path, name: ModelName, part_bytes: int) -> None:
    store = ModelStore(StoreLayout(folder))
    await store.start()
    settings = TransferSettings(sizes=PartSizes(least=part_bytes))
    puller = Puller(store, Registries(RegistrySettings(key_folder=folder / "key")), settings=settings)
    async with aclosing(puller.pull(name, insecure=True)) as steps:
        async for step in steps:
            print(step.status, step.completed_bytes, flush=True)


if __name__ == "__main__":
    asyncio.run(pull(Path(sys.argv[1]), ModelName.parse(sys.argv[2]), int(sys.argv[3])))
