from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config import Config, help_rows, serve_variables
from orchestrator.config_page import page
from orchestrator.domain.durations import MAX_NS, SECOND_NS, KeepAlive
from tests.golden_records import FOLDER, Record, cases, matches, records

PAGE = Path(__file__).parents[1] / "docs" / "configuration.md"

DEFAULT_ORIGINS = [
    origin
    for record in records("values/env.jsonl")
    if record["in"] == {"var": "OLLAMA_ORIGINS", "value": None}
    for origin in record["out"]["origins"]
]
"""The origins that may always call; the API adds them to those of the variable."""


def decoded(variable: str, value: str | None) -> dict[str, Any]:
    """The field that ``variable`` sets, in the form of the records."""
    config = Config.from_environ({} if value is None else {variable: value})
    match getattr(config, variable.removeprefix("OLLAMA_").lower()):
        case _ if variable == "OLLAMA_HOST":
            return {"url": config.host.url, "connect": config.host.connectable.url}
        case KeepAlive(ns):
            return {"ns": ns}
        case timedelta() as limit:
            return {"ns": limit // timedelta(microseconds=1) * 1000}
        case None:
            return {"ns": MAX_NS}
        case bool(switch):
            return {"bool": switch}
        case tuple(entries):
            return {"origins": [*entries, *DEFAULT_ORIGINS]}
        case number:
            return {"level" if variable == "OLLAMA_DEBUG" else "uint": number}


@pytest.mark.parametrize("record", cases("values/env.jsonl"))
def test_a_variable_sets_what_was_recorded(record: Record) -> None:
    assert matches(record, {"out": decoded(record["in"]["var"], record["in"]["value"])})


def test_an_empty_environment_gives_the_defaults() -> None:
    config = Config.from_environ({"HOME": "/home/owl"})
    assert config.models == Path("/home/owl/.ollama/models")
    assert config.home == Path("/home/owl")
    assert config.flash_attention is None
    assert config.remotes == ("ollama.com",)
    assert config.max_body == 1 << 30
    assert config.context_overflow == "truncate"
    assert config.keep_alive_max.is_forever
    assert config.llama_server is None
    assert not config.problems


@pytest.mark.parametrize(
    ("environ", "field", "value"),
    [
        ({"ORCH_LLAMA_SERVER": "/opt/llama-server"}, "llama_server", Path("/opt/llama-server")),
        ({"ORCH_CONTEXT_OVERFLOW": "error"}, "context_overflow", "error"),
        ({"ORCH_KEEP_ALIVE_MIN": "1h"}, "keep_alive_min", KeepAlive(3600 * SECOND_NS)),
        ({"ORCH_MAX_BODY": "512MiB"}, "max_body", 512 << 20),
        ({"ORCH_MAX_BODY": "2 gb"}, "max_body", 2 << 30),
        ({"ORCH_MAX_BODY": "1000"}, "max_body", 1000),
        ({"ORCH_CHECK_MEMORY": "0"}, "check_memory", False),
        ({"ORCH_LOG_FORMAT": "JSON"}, "log_format", "json"),
        ({"ORCH_RUN_DIR": "/run/orch"}, "run_dir", Path("/run/orch")),
        ({"XDG_RUNTIME_DIR": "/run/user/7"}, "run_dir", Path("/run/user/7/orch")),
        ({"OLLAMA_KV_CACHE_TYPE": "Q8_0"}, "kv_cache_type", "q8_0"),
        ({"OLLAMA_FLASH_ATTENTION": "1"}, "flash_attention", True),
        ({"OLLAMA_REMOTES": "a.example, b.example,"}, "remotes", ("a.example", "b.example")),
        ({"OLLAMA_LOAD_TIMEOUT": "0"}, "load_timeout", None),
        ({"ORCH_ENGINE_TURN": "5ms"}, "engine_turn", timedelta(milliseconds=5)),
        ({"ORCH_ENGINE_TURN": "0"}, "engine_turn", None),
        ({"https_proxy": "http://p"}, "https_proxy", "http://p"),
        ({"HTTPS_PROXY": "http://q", "https_proxy": "http://p"}, "https_proxy", "http://q"),
    ],
)
def test_a_variable_sets_its_field(environ: dict[str, str], field: str, value: Any) -> None:
    config = Config.from_environ(environ)
    assert getattr(config, field) == value
    assert not config.problems


DURATION = "a duration such as 30s, 5m or 1h30m, or whole seconds"
TURN = "0, or a duration from 1ms to 1s"
CACHE_TYPES = "f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0, q5_1"


@pytest.mark.parametrize(
    ("variable", "value", "accepts", "used"),
    [
        ("OLLAMA_NUM_PARALLEL", "many", "a whole number, 0 or more", "1"),
        ("OLLAMA_NOPRUNE", "no", "true or false", "true"),
        ("OLLAMA_HOST", "h:x", "[scheme://]host[:port], the port from 0 to 65535", "http://h:11434"),
        ("OLLAMA_KEEP_ALIVE", "soon", DURATION, "5m0s"),
        ("OLLAMA_DEBUG", "yes", "true, false, or a whole number", "0"),
        ("OLLAMA_KV_CACHE_TYPE", "q9", CACHE_TYPES, "none"),
        ("ORCH_KEEP_ALIVE_MAX", "1d", DURATION, "no limit"),
        ("ORCH_CONTEXT_OVERFLOW", "cut", "truncate or error", "truncate"),
        *(("ORCH_ENGINE_TURN", turn, TURN, "40ms") for turn in ("1h", "-1", "1ns", "soon")),
        ("ORCH_MAX_BODY", "big", "bytes, or a number with a unit such as 512MiB or 2GiB", "1073741824"),
    ],
)
def test_an_unusable_value_is_one_clear_warning(
    variable: str, value: str, accepts: str, used: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        Config.from_environ({variable: value}).log()
    (record,) = caplog.records
    assert record.getMessage() == f"{variable}={value!r} is not usable: it takes {accepts}; using {used}"


@pytest.mark.parametrize(
    ("value", "level"),
    [("", 20), ("1", 10), ("2", 5), ("9", 5), ("-1", 30), ("-2", 40), ("-3", 50), ("false", 20)],
)
def test_debug_chooses_the_level_of_the_log(value: str, level: int) -> None:
    assert Config.from_environ({"OLLAMA_DEBUG": value}).log_level == level


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("[::]:80", "http://[::1]:80"),
        (":1234", "http://localhost:1234"),
        ("https://example.com/a b", "https://example.com:443/a%20b"),
    ],
)
def test_clients_get_an_address_they_can_connect_to(host: str, url: str) -> None:
    assert Config.from_environ({"OLLAMA_HOST": host}).client_url == url


def test_the_log_tells_what_was_set_but_no_password() -> None:
    environ = {
        "OLLAMA_MODELS": " '/m' ",
        "HTTPS_PROXY": "http://owl:secret@proxy:8080",
        "http_proxy": "owl:secret@proxy",
        "ORCH_API_KEYS": "owl secret, elk secret2",
        "OLLAMA_API_KEY": "secret",
        "HOME": "/h",
        "PATH": "/bin",
    }
    assert Config.from_environ(environ).values_for_log() == {
        "OLLAMA_MODELS": "/m",
        "HTTPS_PROXY": "http://***@proxy:8080",
        "HTTP_PROXY": "***@proxy",
        "ORCH_API_KEYS": "***",
        "OLLAMA_API_KEY": "***",
    }


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "python -m orchestrator.config_page > docs/configuration.md"


def test_the_help_of_serve_names_every_setting_of_the_server() -> None:
    names = serve_variables()
    assert {"OLLAMA_HOST", "ORCH_RUN_DIR", "LLAMA_ARG_FIT"} <= set(names)
    assert not {"OLLAMA_EDITOR", "HOME", "HTTPS_PROXY"} & set(names)
    rows = dict(help_rows(["OLLAMA_KEEP_ALIVE", "OLLAMA_EDITOR"]))
    assert rows["OLLAMA_KEEP_ALIVE"].endswith("(default 5m)")
    assert rows["OLLAMA_EDITOR"] == "Editor for a prompt"


def test_records_of_the_environment_are_there() -> None:
    assert DEFAULT_ORIGINS or not (FOLDER / "values").exists()
