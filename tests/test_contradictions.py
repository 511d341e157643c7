"""What is told of an environment that is hardly meant."""

from __future__ import annotations

import logging

import pytest

from orchestrator.config import Config


def told(environ: dict[str, str], caplog: pytest.LogCaptureFixture) -> list[str]:
    with caplog.at_level(logging.WARNING):
        Config.from_environ(environ).log()
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    "environ",
    [
        {"OLLAMA_NUM_PARALLEL": "2", "PATH": "/bin", "ORCH_MAX_BODY": "1GiB"},
        {"ORCH_KEEP_ALIVE_MIN": "1m", "ORCH_KEEP_ALIVE_MAX": "1h", "OLLAMA_KEEP_ALIVE": "30m"},
        {"ORCH_KEEP_ALIVE_MAX": "1m"},  # nobody asked for more
        {"OLLAMA_KEEP_ALIVE": "-1"},
        {"HTTPS_PROXY": "http://p", "https_proxy": "http://p", "http_proxy": "http://q"},
        {"ORCH_LLAMA_SERVER": "/bin/llama-server", "ORCH_ENGINE": "native"},
    ],
)
def test_an_environment_that_holds_together_is_not_warned_of(
    environ: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    assert told(environ, caplog) == []


def test_names_that_nobody_reads_are_one_warning_with_those_that_may_have_been_meant(
    caplog: pytest.LogCaptureFixture,
) -> None:
    environ = {"OLLAMA_NUM_PARALEL": "2", "ORCH_KEEPALIVE_MAX": "1h", "ORCH_BANANA": "1", "OLLAMAS": "x"}
    assert told(environ, caplog) == [
        "unknown environment variables ignored: OLLAMA_NUM_PARALEL (did you mean OLLAMA_NUM_PARALLEL?), "
        "ORCH_BANANA, ORCH_KEEPALIVE_MAX (did you mean ORCH_KEEP_ALIVE_MAX?)"
    ]


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        (
            {"ORCH_KEEP_ALIVE_MIN": "1h", "ORCH_KEEP_ALIVE_MAX": "5m"},
            "ORCH_KEEP_ALIVE_MIN=1h0m0s is more than ORCH_KEEP_ALIVE_MAX=5m0s: 1h0m0s holds for all",
        ),
        (
            {"OLLAMA_KEEP_ALIVE": "-1", "ORCH_KEEP_ALIVE_MAX": "5m"},
            "OLLAMA_KEEP_ALIVE=for ever is beyond ORCH_KEEP_ALIVE_MAX=5m0s: 5m0s holds",
        ),
        (
            {"OLLAMA_KEEP_ALIVE": "0", "ORCH_KEEP_ALIVE_MIN": "5m"},
            "OLLAMA_KEEP_ALIVE=0s is beyond ORCH_KEEP_ALIVE_MIN=5m0s: 5m0s holds",
        ),
        (
            {"ORCH_LLAMA_SERVER": "/x", "ORCH_ENGINE": "embedded"},
            "ORCH_LLAMA_SERVER names an engine, ORCH_ENGINE=embedded another: ORCH_LLAMA_SERVER holds",
        ),
        (
            {"HTTPS_PROXY": "http://me:secret@p", "https_proxy": "http://q"},
            "HTTPS_PROXY and https_proxy differ: HTTPS_PROXY holds",
        ),
    ],
)
def test_settings_that_undo_one_another_are_told_with_the_one_that_holds(
    environ: dict[str, str], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert told(environ, caplog) == [text]
