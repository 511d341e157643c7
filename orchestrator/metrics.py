"""What the daemon counts about itself, for Prometheus.

Labels take few values: routes are patterns of the routing table, models are not told apart.
"""

from __future__ import annotations

from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

CONTENT_TYPE = CONTENT_TYPE_LATEST

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_REQUEST_SECONDS = (0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_LOAD_SECONDS = (0.25, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series per counter: when it was made


class Metrics:
    """The counters of one daemon, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "orch_requests",
            "Requests answered.",
            ("dialect", "route", "method", "status"),
            registry=self.registry,
        )
        self._request_seconds = Histogram(
            "orch_request_seconds",
            "From the request to the end of its reply.",
            ("dialect", "route"),
            buckets=_REQUEST_SECONDS,
            registry=self.registry,
        )
        self._series_of = cache(self._request_series)  # routes, methods and statuses are few
        tokens = Counter("orch_tokens", "Tokens read and generated.", ("kind",), registry=self.registry)
        self._prompt_tokens, self._completion_tokens = map(tokens.labels, ("prompt", "completion"))
        self._cached_tokens = self._counter(
            "orch_prompt_tokens_cached", "Prompt tokens that a cache had already."
        )
        self._truncations = self._counter("orch_prompt_truncations", "Prompts cut to fit their window.")
        self._queue = self._gauge("orch_queue_length", "Requests that wait for a runner.")
        self._loads = Counter(
            "orch_loads", "Models loaded, by outcome.", ("outcome",), registry=self.registry
        )
        self._load_seconds = Histogram(
            "orch_load_seconds",
            "Duration of loads that succeeded.",
            buckets=_LOAD_SECONDS,
            registry=self.registry,
        )
        self._evictions = self._counter("orch_evictions", "Runners that left to make room.")
        self._crashes = self._counter("orch_runner_crashes", "Runners that ended by themselves.")
        self._runners = self._gauge("orch_runners_loaded", "Runners that are loaded.")
        self._loaded_bytes = self._gauge("orch_loaded_bytes", "Memory that loaded runners occupy.")

    def request_ended(self, route: str, method: str, status: int, seconds: float) -> None:
        """A reply has been sent, or given up. ``route`` is a pattern of the routing table."""
        count, duration = self._series_of(route, method if method in _METHODS else "other", status)
        count.inc()
        duration.observe(seconds)

    def tokens(self, *, prompt: int, completion: int, cached: int = 0) -> None:
        """An engine has read and generated so many; ``cached`` of the prompt's it knew already.

        An engine may tell anything; counts below zero are none.
        """
        self._prompt_tokens.inc(max(prompt, 0))
        self._completion_tokens.inc(max(completion, 0))
        self._cached_tokens.inc(max(cached, 0))

    def prompt_truncated(self) -> None:
        """A prompt was cut to fit its window."""
        self._truncations.inc()

    def queue_changed(self, length: int) -> None:
        """So many requests wait for a runner now."""
        self._queue.set(length)

    def load_succeeded(self, seconds: float) -> None:
        """A runner got ready after so long."""
        self._loads.labels("ready").inc()
        self._load_seconds.observe(seconds)

    def load_failed(self) -> None:
        """A runner did not get ready."""
        self._loads.labels("failed").inc()

    def runner_evicted(self) -> None:
        """A runner left to make room."""
        self._evictions.inc()

    def runner_crashed(self) -> None:
        """A ready runner ended by itself."""
        self._crashes.inc()

    def runners_changed(self, *, count: int, size_bytes: int) -> None:
        """So many runners are loaded now, and occupy so much memory."""
        self._runners.set(count)
        self._loaded_bytes.set(size_bytes)

    def exposition(self) -> bytes:
        """All of it in the text format of Prometheus (``CONTENT_TYPE``)."""
        return generate_latest(self.registry)

    def _request_series(self, route: str, method: str, status: int) -> tuple[Counter, Histogram]:
        """What counts, and what times, requests of one kind."""
        dialect = _dialect(route)
        return (
            self._requests.labels(dialect, route, method, status),
            self._request_seconds.labels(dialect, route),
        )

    def _counter(self, name: str, help_text: str) -> Counter:
        return Counter(name, help_text, registry=self.registry)

    def _gauge(self, name: str, help_text: str) -> Gauge:
        return Gauge(name, help_text, registry=self.registry)


def _dialect(route: str) -> str:
    if route.startswith("/v1/messages"):
        return "anthropic"
    return "openai" if route.startswith("/v1/") else "native"
