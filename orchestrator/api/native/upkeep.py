"""``/api/prune`` and ``/api/verify``: what nothing uses goes, and what is damaged is found and fetched again.

These routes are our own; Ollama has none like them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from aiohttp import web

from orchestrator.api.bodies import read
from orchestrator.api.native.convert import wants_stream
from orchestrator.api.native.progress import Steps, progress_reply
from orchestrator.api.replies import json_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.domain.names import ModelName
from orchestrator.domain.progress import Progress
from orchestrator.errors import OrchestratorError
from orchestrator.process.stepping import stepped
from orchestrator.store.prune import PrunePlan, Removable
from orchestrator.store.verify import Damage, Hashed, UsedBlob, check, inventory
from orchestrator.units import rfc3339_local
from orchestrator.wire import upkeep as wire


def routes(state: AppState) -> tuple[Route, ...]:
    """The routes of this module."""

    async def prune(request: web.Request) -> web.Response:
        body = await read(request, wire.PruneRequest)
        plan = await state.models.prune(dry_run=body.dry_run)
        return json_reply(_pruned(plan, dry_run=body.dry_run))

    async def verify(request: web.Request) -> web.StreamResponse:
        body = await read(request, wire.VerifyRequest)
        only = ModelName.parse(body.model) if body.model else None
        return await progress_reply(
            request, _Verification(state, body, only).steps(), stream=wants_stream(body.stream)
        )

    return (Route("POST", "/api/prune", prune), Route("POST", "/api/verify", verify))


def _pruned(plan: PrunePlan, *, dry_run: bool) -> wire.PruneResponse:
    return wire.PruneResponse(
        dry_run=dry_run,
        size=_size(plan.removable),
        files=[_file(found) for found in plan.removable],
        spared_size=_size(plan.spared),
        spared=[_file(found) for found in plan.spared],
    )


def _size(found: Sequence[Removable]) -> int:
    return sum(each.size_bytes for each in found)


def _file(found: Removable) -> wire.PrunedFile:
    modified_at = rfc3339_local(int(found.modified_s * 1e9))
    return wire.PrunedFile(name=found.name, kind=found.kind, size=found.size_bytes, modified_at=modified_at)


class _Verification:
    """One look at the store, or at one model."""

    def __init__(self, state: AppState, body: wire.VerifyRequest, only: ModelName | None) -> None:
        self._state = state
        self._models = state.models
        self._body = body
        self._only = only
        self._damages: list[wire.Damage] = []

    async def steps(self) -> Steps:
        only = self._only
        if only is not None:
            only = await asyncio.to_thread(self._models.manifests.canonical, only)
        found = await asyncio.to_thread(inventory, self._models.manifests, only)
        damages = list(found.damages)
        for blob in found.blobs:
            async with aclosing(self._checked(blob, damages)) as checking:
                async for step in checking:
                    yield step
        for damage in damages:
            async with aclosing(self._settled(damage)) as settling:
                async for step in settling:
                    yield step
        whole = all(damage.repaired for damage in self._damages)
        yield wire.VerifyResponse(
            status="success" if whole else "damaged",
            blobs=len(found.blobs),
            size=sum(blob.size_bytes for blob in found.blobs),
            damages=self._damages,
        )

    async def _checked(self, blob: UsedBlob, damages: list[Damage]) -> AsyncGenerator[Progress, None]:
        status = f"verifying {blob.digest.short}"
        async with aclosing(stepped(check(self._models.layout, blob))) as checking:
            async for found in checking:
                if isinstance(found, Hashed):
                    yield Progress(status, str(blob.digest), blob.size_bytes, found.done_bytes)
                else:
                    damages.append(found)

    async def _settled(self, damage: Damage) -> AsyncGenerator[Progress, None]:
        """Have a damage repaired if that is wanted and possible; it is reported either way."""
        failure = ""
        repaired = False
        if self._body.repair and damage.blob is not None:
            try:
                async with aclosing(self._refetched(damage.blob)) as fetching:
                    async for step in fetching:
                        yield step
                repaired = True
            except OrchestratorError as error:
                failure = str(error)
        self._damages.append(
            wire.Damage(
                name=damage.what,
                problem=damage.problem,
                reason=damage.reason,
                models=[name.short for name in damage.models],
                repaired=repaired,
                repair_error=failure,
            )
        )

    def _refetched(self, blob: UsedBlob) -> AsyncGenerator[Progress, None]:
        from orchestrator.registry.repair import refetch

        return refetch(self._state.transfers.pulls, blob, insecure=self._body.insecure)
