"""Clients of registries. They share their connections, which are open while there is a client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from orchestrator.domain.names import ModelName
from orchestrator.process.cleanup import to_the_end
from orchestrator.registry.client import RegistryClient
from orchestrator.registry.key import Identity
from orchestrator.registry.settings import RegistrySettings
from orchestrator.registry.transport import Transport


class Registries:
    """All registries, as this daemon reaches them."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings
        self._identity = Identity(settings.key_folder)
        self._transport: Transport | None = None
        self._clients = 0

    @asynccontextmanager
    async def client(self, name: ModelName, *, insecure: bool = False) -> AsyncIterator[RegistryClient]:
        """The registry of a model, for one operation. Raises ``InsecureName``."""
        if self._transport is None:
            self._transport = Transport(self._settings)
        transport = self._transport
        self._clients += 1
        try:
            yield RegistryClient(transport, self._settings, self._identity, name, insecure=insecure)
        finally:
            self._clients -= 1
            if not self._clients:
                self._transport = None
                await to_the_end(transport.close())
