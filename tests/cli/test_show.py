"""``orch show``."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Orch
from tests.native_server import NativeServer

MODEL = {
    "license": "Terms",
    "modelfile": "FROM x",
    "parameters": "top_k 5\nseed 1",
    "system": "Be brief.",
    "template": "{{ .Prompt }}",
    "details": {"family": "llama", "parameter_size": "1B", "quantization_level": "F16"},
}


@pytest.mark.parametrize(
    ("flag", "printed"),
    [
        ("--license", "Terms\n"),
        ("--modelfile", "FROM x\n"),
        ("--parameters", "seed 1\ntop_k 5\n"),
        ("--system", "Be brief."),
        ("--template", "{{ .Prompt }}"),
    ],
)
def test_a_flag_prints_its_part(orch: Orch, server: NativeServer, flag: str, printed: str) -> None:
    server.says("POST /api/show", MODEL)
    assert orch("show", "m", flag).out == printed


def test_without_a_flag_the_card_is_printed(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/show", MODEL)
    assert orch("show", "m", "-v").out.startswith("  Model\n    architecture    llama    \n")
    assert server.asked("POST /api/show") == [{"model": "m", "verbose": True}]


def test_two_parts_at_once_are_refused(orch: Orch, server: NativeServer) -> None:
    printed = orch("show", "m", "--license", "--system")
    assert printed.err.startswith(
        "Error: only one of '--license', '--modelfile', '--parameters', '--system', "
    )
    assert not server.asked("POST /api/show")


def test_a_flag_taken_back_does_not_count(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/show", MODEL)
    assert orch("show", "m", "--license=false", "--system").out == "Be brief."


def test_models_that_make_pictures_are_refused(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/show", {"capabilities": ["image"]})
    assert orch("show", "m").err == "Error: image generation models are not currently supported\n"
