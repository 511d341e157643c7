"""What moves models between a store and registries, as the daemon has it."""

from __future__ import annotations

from orchestrator.registry.pull import Puller
from orchestrator.registry.push import Pusher
from orchestrator.registry.registries import Registries
from orchestrator.registry.settings import RegistrySettings
from orchestrator.store.models import ModelStore


class Transfers:
    """Pulls and pushes of one store."""

    def __init__(
        self, store: ModelStore, settings: RegistrySettings, *, bytes_per_second: int = 0, streams: int = 4
    ) -> None:
        """``bytes_per_second`` and ``streams``: see ``Puller``."""
        registries = Registries(settings)
        self.pulls = Puller(store, registries, bytes_per_second=bytes_per_second, streams=streams)
        self.pushes = Pusher(registries, store)

    def stop(self) -> None:
        """The daemon stops: nobody waits for the end of a download."""
        self.pulls.stop()
