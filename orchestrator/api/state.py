"""What handlers work with: the parts of the daemon, and the few settings they need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from orchestrator.api.access import Access
from orchestrator.api.origins import Origins
from orchestrator.api.requestlog import RequestLog
from orchestrator.metrics import Metrics
from orchestrator.scheduler.loop import Scheduler
from orchestrator.store.models import ModelStore

if TYPE_CHECKING:
    from orchestrator.create.quantizer import Quantizer
    from orchestrator.inference.service import Inference
    from orchestrator.registry.transfers import Transfers


@dataclass(frozen=True, kw_only=True)
class AppState:
    """Made once by the daemon."""

    version: str
    models: ModelStore
    scheduler: Scheduler
    make_inference: Callable[[], Inference]
    make_transfers: Callable[[], Transfers]
    metrics: Metrics
    origins: Origins
    check_hosts: bool
    """The daemon listens on loopback, so it looks at ``Host`` headers."""
    max_body_bytes: int
    """Limit of request bodies, uploads of blobs excepted; 0 is none."""
    cloud_source: str = "none"
    """Who disabled the cloud: ``none``, ``env``, ``config`` or ``both``."""
    access: Access | None = None
    """Who is let in; ``None`` is everybody."""
    request_log: RequestLog | None = None
    sse_ping_s: float = 0.0
    """The longest silence in an event stream before a sign of life; 0 is any."""
    quantizer: Quantizer | None = None
    """Comes with the native engine."""

    @cached_property
    def inference(self) -> Inference:
        """The path from requests to answers; made with the first request, for it takes much to import."""
        return self.make_inference()

    @cached_property
    def transfers(self) -> Transfers:
        """What pulls and pushes; made with the first of them, for it takes much to import."""
        return self.make_transfers()

    def stop_transfers(self) -> None:
        """End the downloads there are, for the daemon stops."""
        if "transfers" in self.__dict__:
            self.transfers.stop()

    @property
    def cloud_disabled(self) -> bool:
        """The user does not want the cloud."""
        return self.cloud_source != "none"
