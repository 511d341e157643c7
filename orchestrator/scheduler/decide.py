"""What to do about an event. No clock, no process, no await: time is an event too.

The order in which a decision looks at things:

1. Ready runners are lent to those who wait for them.
2. Idle runners whose keep-alive is over leave.
3. The first in line that needs a load gets it: a place is made (evict an idle runner, or drain a busy one),
   the machine is measured, the start is ordered. One start at a time; requests for ready runners never wait
   for it.

A request that has to wait only for its own runner to be drained does not hold up those behind it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from orchestrator.errors import QueueFull, ShuttingDown
from orchestrator.runners.base import LoadOrder
from orchestrator.scheduler.admission import NeedsRoom, exceeds, most_bytes, plan_load, too_large
from orchestrator.scheduler.effects import Effect, Reason
from orchestrator.scheduler.errors import NotEnoughMemory
from orchestrator.scheduler.events import (
    Asked,
    ClosedDown,
    Dropped,
    Event,
    Exited,
    HealthChecked,
    Loaded,
    LoadFailed,
    Measured,
    Released,
    Stopped,
    Ticked,
    UnloadAsked,
)
from orchestrator.scheduler.eviction import next_victim
from orchestrator.scheduler.ladder import next_try
from orchestrator.scheduler.recovery import INTERVAL_NS, departure, is_awaited
from orchestrator.scheduler.reuse import same_wish, shares_start
from orchestrator.scheduler.step import Step
from orchestrator.scheduler.world import Loading, Ready, Request, Stopping, World


def decide(world: World, event: Event) -> tuple[World, tuple[Effect, ...]]:
    """The next world, and what has to be done to get there."""
    step = Step(world, event.now)
    if world.closed:
        if isinstance(event, Asked):
            step.fail(event.request, ShuttingDown())
        return step.finish()
    match event:
        case Asked():
            _asked(step, event.request)
        case Dropped():
            step.queue = [request for request in step.queue if request.id != event.request_id]
        case Released():
            _released(step, event)
        case Measured():
            step.measuring = False
            if step.gpus is None:
                step.gpus = len(event.devices)
            step.most_bytes = most_bytes(step.settings, event)
            step.measure_at = None
            step.departures = [left for left in step.departures if is_awaited(left, event.devices, step.now)]
        case Loaded():
            _loaded(step, event)
        case LoadFailed():
            _load_failed(step, event)
        case HealthChecked():
            _health_checked(step, event)
        case Exited():
            _exited(step, event)
        case Stopped():
            _gone(step, event.key, event.serial)
        case UnloadAsked():
            _unload_asked(step, event.key)
        case Ticked():
            pass
        case ClosedDown():
            step.closed = True
            for request in step.queue:
                step.fail(request, ShuttingDown())
        case _:
            assert_never(event)
    if not step.closed:
        _advance(step, event if isinstance(event, Measured) else None)
    return step.finish()


# events


def _asked(step: Step, request: Request) -> None:
    if len(step.queue) >= step.settings.max_queue and _exceeds_bound(step, request):
        step.fail(request, QueueFull())
    else:
        step.queue.append(request)


def _exceeds_bound(step: Step, request: Request) -> bool:
    """Whether the queue has no place for one more.

    Nobody counts who can have a runner at once, or shares the start that goes on or is being prepared.
    """
    match step.runners.get(request.key):
        case Ready() as runner if runner.suits(request) and _takes(step, runner, request):
            return False
    start = step.loading.order.spec if step.loading else (*step.queue, request)[0].spec
    if shares_start(request.spec, start):
        return False
    return sum(not shares_start(waiting.spec, start) for waiting in step.queue) >= step.settings.max_queue


def _released(step: Step, event: Released) -> None:
    runner = step.runner(event.key, event.serial)
    if isinstance(runner, Ready):
        vouched_at = runner.vouched_at - step.settings.health_after_ns if event.suspect else step.now
        step.runners[event.key] = replace(
            runner, leases=runner.leases - 1, last_used=step.now, vouched_at=vouched_at
        )
    if event.out_of_memory:
        for other in step.ready():
            step.runners[other.key] = replace(other, keep_alive_ns=0)


def _loaded(step: Step, event: Loaded) -> None:
    loading = step.runner(event.key, event.serial)
    if isinstance(loading, Stopping):
        step.end(loading)  # given up in the very moment it became ready
    if not isinstance(loading, Loading):
        return
    step.failures.pop(event.key, None)
    step.runners[event.key] = Ready(
        key=event.key,
        serial=event.serial,
        order=loading.order,
        spec=event.spec,
        mmap_auto=event.mmap_auto,
        memory=event.memory,
        ready_at=step.now,
        load_ns=step.now - loading.since,
        keep_alive_ns=loading.keep_alive_ns,
        last_used=step.now,
        vouched_at=step.now,
    )


def _load_failed(step: Step, event: LoadFailed) -> None:
    loading = step.runner(event.key, event.serial)
    if loading is None:
        return
    del step.runners[event.key]
    if not isinstance(loading, Loading):
        return
    sharers = step.sharers(loading)
    if event.out_of_memory:
        # whoever wanted another, smaller window gets a start of its own
        sharers = [request for request in sharers if same_wish(request.spec, loading.order.spec)]
        again = next_try(loading.order.spec, alone=_was_alone(sharers), others=bool(step.runners))
        if again is not None:
            ids = {request.id for request in sharers}
            step.queue = [
                replace(request, spec=again, alone=True) if request.id in ids else request
                for request in step.queue
            ]
            return
    step.note_failure(event.key)
    for request in sharers:
        step.fail(request, event.error)


def _was_alone(sharers: list[Request]) -> bool:
    return any(request.alone for request in sharers)


def _health_checked(step: Step, event: HealthChecked) -> None:
    runner = step.runner(event.key, event.serial)
    if not isinstance(runner, Ready):
        return
    checked = replace(runner, checking=False)
    if event.healthy:
        step.runners[event.key] = replace(checked, vouched_at=step.now)
    else:
        step.stop(checked, Reason.UNHEALTHY)


def _exited(step: Step, event: Exited) -> None:
    runner = step.runner(event.key, event.serial)
    if isinstance(runner, Ready):
        step.stop(runner, Reason.CRASHED)  # what is left of it has to be cleared away
    _gone(step, event.key, event.serial)


def _gone(step: Step, key: str, serial: int) -> None:
    runner = step.runner(key, serial)
    if isinstance(runner, Stopping):
        del step.runners[key]
        left = departure(runner, step.ready(), step.now)
        step.departures += [left] if left else []


def _unload_asked(step: Step, key: str) -> None:
    runner = step.runners.get(key)
    if isinstance(runner, Ready | Loading):
        step.runners[key] = replace(runner, keep_alive_ns=0)


# what follows from the state


def _advance(step: Step, figures: Measured | None) -> None:
    _serve(step)
    _expire(step)
    if step.queue:
        _make_progress(step, figures)
    if step.settle_rivals():
        _serve(step)


def _serve(step: Step) -> None:
    """Lend ready runners to those who wait for them, first come first served."""
    if step.queue:
        step.queue = [request for request in step.queue if not _served(step, request)]


def _served(step: Step, request: Request) -> bool:
    runner = step.runners.get(request.key)
    if not isinstance(runner, Ready) or not runner.suits(request):
        return False
    if not _takes(step, runner, request):
        return False
    if runner.leases == 0 and step.now - runner.vouched_at >= step.settings.health_after_ns:
        step.check(runner)
        return False
    step.lend(runner, request)
    return True


def _takes(step: Step, runner: Ready, request: Request) -> bool:
    return runner.takes(request, now=step.now, turn_ns=step.settings.turn_ns)


def _expire(step: Step) -> None:
    for runner in step.ready():
        expires_at = runner.expires_at()
        if expires_at is not None and expires_at <= step.now:
            step.stop(runner, Reason.EXPIRED)


def _make_progress(step: Step, figures: Measured | None) -> None:
    """Bring the first in line that needs a load nearer to it."""
    _abandon_unwanted_load(step)
    blocked = step.loading is not None
    for request in list(step.queue):
        match step.runners.get(request.key):
            case None:
                blocked = blocked or not _place_found(step, request, figures)
            case Ready() as runner if not runner.suits(request):
                if not _hopeless(step, request, figures):
                    step.vacate(runner, request, Reason.RELOADED)
            case _:
                pass  # it waits for its turn, for the start, or for the old process to end


def _abandon_unwanted_load(step: Step) -> None:
    """A start that nobody waits for goes on, unless it holds up somebody else (case B116)."""
    loading = step.loading
    if loading is None or any(map(loading.will_suit, step.queue)):
        return
    if any(not isinstance(step.runners.get(request.key), Ready) for request in step.queue):
        step.abandon(loading)


def _place_found(step: Step, request: Request, figures: Measured | None) -> bool:
    """Do the next thing needed to load for ``request``; whether the one behind it may have a look too."""
    failure = step.failures.get(request.key)
    if failure is not None and step.now < failure.retry_at:
        return True
    if request.alone and step.runners:
        for runner in step.ready():
            step.vacate(runner, request, Reason.EVICTED)
        return False
    if _hopeless(step, request, figures):
        return figures is not None
    limit = None if step.gpus is None else step.settings.limit(step.gpus)
    if limit is not None and len(step.runners) >= limit:
        _make_room(step, request)
        return False
    if figures is None:
        step.measure(request)
        return False
    if step.departures and request.spec.options.num_gpu != 0:
        step.measure_at = step.now + INTERVAL_NS
        return False
    match plan_load(request.spec, step.settings, figures, step.ready()):
        case NeedsRoom():
            _make_room(step, request)
        case NotEnoughMemory() as error if not step.somebody_leaves:
            step.fail(request, error)
            return True
        case LoadOrder() as order if not (order.devices and step.somebody_leaves):
            step.start(request, order)
        case _:
            pass  # whoever is leaving changes the figures
    return False


def _hopeless(step: Step, request: Request, figures: Measured | None) -> bool:
    """Whether a model will not fit, whoever leaves; new figures that say so send its request away."""
    if not exceeds(request.spec, step.settings, step.most_bytes):
        return False
    if figures is None:
        step.measure(request)
    elif not step.somebody_leaves:
        step.fail(request, too_large(request.spec, step.settings, figures))
    return True


def _make_room(step: Step, request: Request) -> None:
    """See to it that one runner leaves, unless one is leaving already."""
    victim = None if step.somebody_leaves else next_victim(step.ready())
    if victim is not None:
        step.vacate(victim, request, Reason.EVICTED)
