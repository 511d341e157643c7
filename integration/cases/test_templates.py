"""Conversations that templates are particular about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.cases.place import TOOLS, Json, Place, tool
from integration.toy import post, upload
from tests.http_replay.daemon import daemon_process
from tests.http_replay.transport import Server
from tests.sample_models import smollm2, with_chat_template

CALL: Json = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "now", "arguments": {}}}]}
RESULT: Json = {"role": "tool", "tool_call_id": "1", "content": "noon"}
MIXED: list[str | Json] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello."},
    {"role": "assistant", "content": "Hi."},
    {"role": "system", "content": "Answer in French."},
    {"role": "user", "content": "How are you?"},
]
EXCEPTION = {
    "error": {
        "code": 500,
        "message": "Jinja Exception: System message must be at the beginning.",
        "type": "server_error",
    }
}
TURN = "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
STRICT = {
    "system first": "{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
    "{{ raise_exception('System message must be at the beginning.') }}{% endif %}" + TURN + "{% endfor %}",
    "no system": "{% for m in messages %}{% if m.role == 'system' %}"
    "{{ raise_exception('System role not supported') }}"
    "{% elif (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}"
    "{% endif %}" + TURN + "{% endfor %}",
}
BRIEF = {"num_predict": 2, "temperature": 0}


# case B061, case B062
@pytest.mark.parametrize(
    "kind", ["template", "qwen3-coder", "qwen3.5", "gemma4", "glm-4.7", "deepseek3.1", "native"]
)
def test_calls_without_content_look_alike_however_that_is_written(here: Place, kind: str) -> None:
    if kind == "native":
        model = here.native("native")
    elif kind == "template":
        model = here.model("tagged", template=TOOLS)
    else:
        model = here.model(f"r-{kind}", renderer=kind, parser=kind.replace("deepseek3.1", "deepseek3"))
    here.script()
    histories: list[Json] = [CALL, CALL | {"content": ""}, CALL | {"content": None}]
    for call in histories:
        assert here.chat(model, "What time is it?", call, RESULT, tools=[tool("now")]).status == 200
    path = "/v1/chat/completions" if kind == "native" else "/completion"
    first, *others = here.calls(path)
    assert others == [first, first]


# case B064
@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize("refusals", [1, 2])
@pytest.mark.parametrize("stream", [True, False])
def test_a_template_that_refuses_gets_the_conversation_in_turns(
    here: Place, status: int, refusals: int, stream: bool
) -> None:
    model = here.native("native")
    here.script(answers={"/v1/chat/completions": [{"status": status, "json": EXCEPTION}] * refusals})
    answer = here.chat(model, *MIXED, stream=stream)
    assert answer.status == 200, answer
    assert any("system messages" in warning for warning in answer.last["warnings"])
    assert "refused by the template" in here.log()
    sent = here.calls("/v1/chat/completions")[-1]["messages"]
    roles = ["user", "assistant", "user"]
    assert [message["role"] for message in sent] == (["system", *roles] if refusals == 1 else roles)
    assert "Answer in French." in sent[-1]["content"]
    assert "How are you?" in sent[-1]["content"]


# case B064
def test_a_conversation_that_is_never_accepted_is_no_fault_of_the_server(here: Place) -> None:
    model = here.native("native")
    here.script(answers={"/v1/chat/completions": [{"status": 500, "json": EXCEPTION}]}, answers_repeat=True)
    answer = here.chat(model, *MIXED)
    assert answer.status == 400
    assert "System message must be at the beginning" in answer.body["error"]


# case B064
@pytest.mark.parametrize(
    "kind", ["qwen3-coder", "qwen3.5", "qwen3.8", "gemma4", "glm-4.7", "cohere", "olmo3", "laguna"]
)
def test_renderers_take_system_messages_anywhere(here: Place, kind: str) -> None:
    model = here.model(f"r-{kind}", renderer=kind)
    assert "How are you?" in here.prompt(model, *MIXED)


@pytest.fixture(scope="module")
def strict_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A daemon with the engine that is installed, and models with strict templates."""
    folder: Path = tmp_path_factory.mktemp("strict")
    with daemon_process(folder, {"OLLAMA_GO_TEMPLATE": "0"}) as daemon:
        for name, template in STRICT.items():
            weights = with_chat_template(smollm2(), template + "<|im_start|>assistant\n").read_bytes()
            body = {"files": {"m.gguf": upload(daemon.server, weights)}, "stream": False}
            assert post(daemon.server, "/api/create", {"model": model_name(name), **body}).status == 200
        yield daemon.server


def model_name(kind: str) -> str:
    return kind.replace(" ", "-")


# case B064
@pytest.mark.parametrize("kind", STRICT)
def test_a_real_template_that_raises_is_answered(strict_server: Server, kind: str) -> None:
    body: dict[str, Any] = {"model": model_name(kind), "messages": MIXED, "stream": False, "options": BRIEF}
    answer = post(strict_server, "/api/chat", body)
    assert answer.status == 200, answer
    assert answer.body["warnings"]
    shown = post(strict_server, "/api/chat", body | {"_debug_render_only": True})
    assert "Answer in French.\n\nHow are you?" in shown.body["_debug_info"]["rendered_template"]


# case B064
def test_a_real_template_without_system_role_takes_the_system_text_of_generate(strict_server: Server) -> None:
    body = {
        "model": "no-system",
        "system": "Be brief.",
        "prompt": "Hello.",
        "stream": False,
        "options": BRIEF,
    }
    answer = post(strict_server, "/api/generate", body | {"_debug_render_only": True})
    assert answer.status == 200, answer
    assert "Be brief." in answer.body["_debug_info"]["rendered_template"]
