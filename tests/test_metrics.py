from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from orchestrator.metrics import CONTENT_TYPE, Metrics


def samples(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Name and label values, by the labels' names → value, as a scraper reads them; buckets left out."""
    return {
        (sample.name, *(sample.labels[label] for label in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(metrics.exposition().decode())
        for sample in family.samples
        if not sample.name.endswith("_bucket")
    }


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def test_requests_are_told_apart_by_dialect_route_method_and_status(metrics: Metrics) -> None:
    metrics.request_ended("/api/chat", "POST", 200, 1.5)
    metrics.request_ended("/api/chat", "POST", 200, 0.5)
    metrics.request_ended("/v1/chat/completions", "POST", 404, 0)
    metrics.request_ended("/v1/messages", "POST", 200, 0)
    seen = samples(metrics)
    assert seen["orch_requests_total", "native", "POST", "/api/chat", "200"] == 2
    assert seen["orch_requests_total", "openai", "POST", "/v1/chat/completions", "404"] == 1
    assert seen["orch_requests_total", "anthropic", "POST", "/v1/messages", "200"] == 1
    assert seen["orch_request_seconds_sum", "native", "/api/chat"] == 2


def test_what_clients_make_up_is_no_label(metrics: Metrics) -> None:
    for method in ("BREW", "PROPFIND"):
        metrics.request_ended("unknown", method, 405, 0)
    assert samples(metrics)["orch_requests_total", "native", "other", "unknown", "405"] == 2


def test_tokens_and_truncations_add_up(metrics: Metrics) -> None:
    metrics.tokens(prompt=7, cached=2, completion=3)
    metrics.tokens(prompt=1, completion=0)
    metrics.tokens(prompt=-1, cached=-1, completion=-1)
    metrics.prompt_truncated()
    seen = samples(metrics)
    assert seen["orch_tokens_total", "prompt"] == 8
    assert seen["orch_tokens_total", "completion"] == 3
    assert seen["orch_prompt_tokens_cached_total",] == 2
    assert seen["orch_prompt_truncations_total",] == 1


def test_the_life_of_runners_is_counted(metrics: Metrics) -> None:
    metrics.load_succeeded(1.25)
    metrics.load_failed()
    metrics.runner_evicted()
    metrics.runner_crashed()
    metrics.runners_changed(count=2, size_bytes=1 << 40)
    metrics.queue_changed(5)
    seen = samples(metrics)
    assert seen["orch_loads_total", "ready"] == seen["orch_loads_total", "failed"] == 1
    assert seen["orch_load_seconds_sum",] == 1.25
    assert seen["orch_evictions_total",] == seen["orch_runner_crashes_total",] == 1
    assert seen["orch_runners_loaded",] == 2
    assert seen["orch_loaded_bytes",] == 1 << 40
    assert seen["orch_queue_length",] == 5


def test_each_daemon_counts_for_itself(metrics: Metrics) -> None:
    metrics.runner_crashed()
    assert samples(Metrics())["orch_runner_crashes_total",] == 0


def test_nothing_is_told_twice(metrics: Metrics) -> None:
    metrics.request_ended("/", "GET", 200, 0)
    assert not [name for name, *_ in samples(metrics) if name.endswith("_created")]
    assert CONTENT_TYPE.startswith("text/plain")
