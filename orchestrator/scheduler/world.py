"""The state of the scheduler: who waits, and where each runner is in its life.

::

    (none) ──StartLoad──▶ Loading ──Loaded──▶ Ready ──Stop──▶ Stopping ──Stopped──▶ (none)
                             │ LoadFailed        │ Exited                │ Exited
                             ▼                   ▼                       ▼
                           (none)              (none)                  (none)
    Loading ──CancelLoad──▶ Stopping

All times are nanoseconds of one monotonic clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.domain.devices import Device
from orchestrator.domain.durations import MAX_NS
from orchestrator.domain.loads import LoadSpec
from orchestrator.runners.base import LoadOrder, MemoryUse
from orchestrator.scheduler.effects import Reason
from orchestrator.scheduler.placement import DeviceKey
from orchestrator.scheduler.reuse import shares_start, suits
from orchestrator.scheduler.settings import SchedulerSettings

FIRST_BACKOFF_NS = 100_000_000
LONGEST_BACKOFF_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Request:
    """One call that waits for a runner. ``id`` grows with the order of arrival."""

    id: int
    spec: LoadSpec
    asked_at: int
    keep_alive_ns: int | None = None
    """Within the operator's bounds; ``None`` leaves what is in force."""
    alone: bool = False
    """Memory ran out while its model was loading: everything else has to leave before the next try."""

    @property
    def key(self) -> str:
        """The model it wants."""
        return self.spec.files.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """A process that is starting. It can be given up, but it is never chosen to make room (case B102)."""

    key: str
    serial: int
    order: LoadOrder
    since: int
    keep_alive_ns: int
    """How long the runner stays if nobody waits for it any more when it is ready."""

    def will_suit(self, request: Request) -> bool:
        """Whether ``request`` can have the runner once it is ready."""
        return request.key == self.key and shares_start(request.spec, self.order.spec)


@dataclass(frozen=True, slots=True)
class Rival:
    """The waiting request that a busy runner has to leave for."""

    request_id: int
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A runner that serves, or waits idle for its keep-alive to end."""

    key: str
    serial: int
    order: LoadOrder
    spec: LoadSpec
    """What is in force."""
    mmap_auto: bool
    memory: MemoryUse
    ready_at: int
    load_ns: int
    keep_alive_ns: int
    last_used: int
    vouched_at: int
    """When the engine last showed that it works."""
    leases: int = 0
    checking: bool = False
    """Its health is being checked; it is idle and lent to nobody meanwhile."""
    rival: Rival | None = None

    @property
    def is_idle(self) -> bool:
        """It may leave at once."""
        return self.leases == 0 and not self.checking

    @property
    def is_draining(self) -> bool:
        """It is busy, and leaves when it no longer is."""
        return self.leases > 0 and (self.rival is not None or self.keep_alive_ns == 0)

    def suits(self, request: Request) -> bool:
        """Whether ``request`` can have this runner as it is, without a reload."""
        return suits(request.spec, asked=self.order.spec, loaded=self.spec, mmap_auto=self.mmap_auto)

    def expires_at(self) -> int | None:
        """When it leaves if nobody asks for it until then; ``None`` is never, or not while it is busy."""
        if not self.is_idle or self.keep_alive_ns == MAX_NS:
            return None
        return self.last_used + self.keep_alive_ns

    def takes(self, request: Request, *, now: int, turn_ns: int) -> bool:
        """Whether ``request`` may have a lease, seen from those who wait for this runner's place.

        Who came before the rival always may. Later requests are let in while a slot is free and the turn
        lasts: as long as the load took, at least ``turn_ns``, counted from when somebody began to wait for
        the place. So work for one model is grouped, and the wait of the rival has a bound (case B105).
        """
        if self.checking:
            return False
        if self.rival is None or request.id < self.rival.request_id:
            return True
        turn_ends = max(self.rival.since, self.ready_at) + max(turn_ns, self.load_ns)
        return self.leases < self.order.parallel and now < turn_ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """A process that has been told to end, or a start that was given up. It still takes place and memory."""

    key: str
    serial: int
    spec: LoadSpec
    reason: Reason
    memory: MemoryUse = MemoryUse()
    devices: tuple[Device, ...] = ()
    """Where its memory is, and what was free there before it was loaded."""


@dataclass(frozen=True, slots=True)
class Departure:
    """A runner that has left a GPU, which may not have its memory back yet."""

    devices: frozenset[DeviceKey]
    enough_bytes: int
    """What is free on them together when it has most of it back."""
    until: int
    """Nobody waits for it any longer."""


RunnerRecord = Loading | Ready | Stopping


@dataclass(frozen=True, slots=True)
class Failure:
    """Starts of one model that failed in a row."""

    count: int
    at: int

    @property
    def retry_at(self) -> int:
        """When the next start may be tried: at once after the first failure, then ever later (case B117)."""
        if self.count < 2:
            return self.at
        return self.at + min(FIRST_BACKOFF_NS << min(self.count - 2, 16), LONGEST_BACKOFF_NS)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """All the scheduler knows. ``decide`` gives the next one."""

    settings: SchedulerSettings
    queue: tuple[Request, ...] = ()
    """Requests without a runner, in order of arrival."""
    runners: Mapping[str, RunnerRecord] = field(default_factory=dict)
    """By model key; at most one runner per key, and at most one that is ``Loading``."""
    failures: Mapping[str, Failure] = field(default_factory=dict)
    """By model key, since the last start that succeeded."""
    gpus: int | None = None
    """How many GPUs there are, known from the first measurement on and fixed then."""
    most_bytes: int | None = None
    """Memory for models if all of it were free, as last measured; ``None`` where that is no bound."""
    measuring: bool = False
    departures: tuple[Departure, ...] = ()
    """Memory that is still to come back."""
    measure_at: int | None = None
    """When to look at the devices again, because of the ``departures``."""
    serial: int = 0
    """Of the latest start."""
    closed: bool = False


def next_deadline(world: World, now: int) -> int | None:
    """When ``decide`` wants to be called with ``Ticked`` if nothing else happens; ``None`` is never.

    What was due until ``now``, the time of the latest event, has been seen to.
    """
    expiries = (runner.expires_at() for runner in world.runners.values() if isinstance(runner, Ready))
    retries = (world.failures[key].retry_at for key in _held_back(world))
    times = (*expiries, *retries, world.measure_at)
    return min((time for time in times if time is not None and time > now), default=None)


def _held_back(world: World) -> set[str]:
    """Models that somebody waits for and whose last starts failed."""
    if not world.failures:
        return set()
    return {
        request.key
        for request in world.queue
        if request.key in world.failures and request.key not in world.runners
    }
