"""Fetching damaged or missing blobs again, from wherever the names of their models point."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from orchestrator.domain.progress import Progress
from orchestrator.registry.errors import RegistryError, RetriesExhausted, Unreachable
from orchestrator.registry.manifest import Blob
from orchestrator.registry.pull import Puller
from orchestrator.store.verify import UsedBlob


class NotRefetched(RegistryError):
    """No registry gave the blob."""

    def __init__(self, failures: dict[str, RegistryError]) -> None:
        tried = "; ".join(f"{name}: {error}" for name, error in failures.items())
        offline = all(map(_is_unreachable, failures.values()))
        super().__init__(f"no registry can be reached: {tried}" if offline else tried)
        self.hint = "a model that is in no registry has to be created or imported again"


async def refetch(
    puller: Puller, blob: UsedBlob, *, insecure: bool = False
) -> AsyncGenerator[Progress, None]:
    """Fetch a blob from the first of its sources that has it. Raises ``NotRefetched``, ``StoreError``."""
    failures: dict[str, RegistryError] = {}
    for name in blob.sources:
        try:
            wanted = Blob(blob.digest, blob.size_bytes)
            async with aclosing(puller.refetch(name, wanted, insecure=insecure)) as steps:
                async for step in steps:
                    yield step
        except RegistryError as error:
            failures[name.short] = error
        else:
            return
    raise NotRefetched(failures)


def _is_unreachable(error: RegistryError) -> bool:
    return isinstance(error.last if isinstance(error, RetriesExhausted) else error, Unreachable)
