"""Prompts that do not fit into the context window: nothing is cut in silence, and all models are alike."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from integration.cases.place import FULL_WINDOW, OUT_OF_BUDGET, PLAIN, Json, Place, place

PROMPT = "The locker code is PLUM-4471. " + "filler " * 3000 + "What is the locker code?"
TOO_LONG = {
    "error": {
        "code": 400,
        "message": "request (10526 tokens) exceeds the available context size (512 tokens)",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 10526,
        "n_ctx": 512,
    }
}
"""What an engine answers to a chat that it finds too long."""
CONVERSATION: list[str | Json] = [
    {"role": role, "content": f"{role} {turn}: " + "word " * 60}
    for turn in range(60)
    for role in ("user", "assistant")
]
SMALL = {"options": {"num_ctx": 512, "num_batch": 96}}  # a batch that no larger window was loaded with


@pytest.fixture(scope="module")
def strict_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A daemon that refuses what does not fit."""
    with place(tmp_path_factory.mktemp("strict"), {"ORCH_CONTEXT_OVERFLOW": "error"}) as strict:
        yield strict


def models(here: Place) -> dict[str, str]:
    """One model for every way to make prompts."""
    return {
        "template": here.model("templated", template=PLAIN),
        "renderer": here.model("rendered", renderer="qwen3-coder", parser="qwen3-coder"),
        "native": here.native("native"),
        "bare": here.model("bare"),
    }


def refuse_once(here: Place) -> None:
    """The engine finds the next chat too long, as a real one would."""
    here.script(answers={"/v1/chat/completions": [{"status": 400, "json": TOO_LONG}]})


# case B001
@pytest.mark.parametrize("kind", ["template", "renderer", "native", "bare"])
def test_a_prompt_that_was_cut_is_told_of(here: Place, kind: str) -> None:
    model = models(here)[kind]
    refuse_once(here)
    answer = here.chat(model, PROMPT, **SMALL)
    assert answer.status == 200, answer
    assert answer.body["prompt_truncated"] is True
    assert answer.body["prompt_tokens_dropped"] > 9000
    assert answer.body["prompt_tokens_before"] > 10_000
    assert "prompt did not fit" in here.log()


# case B001
@pytest.mark.parametrize("kind", ["template", "renderer", "native"])
def test_a_prompt_of_generate_that_was_cut_is_told_of(here: Place, kind: str) -> None:
    answer = here.generate(models(here)[kind], PROMPT, **SMALL)
    assert answer.status == 200, answer
    assert answer.body["prompt_truncated"] is True
    assert answer.body["prompt_tokens_dropped"] > 9000
    assert "prompt did not fit" in here.log()


# case B001
def test_what_is_left_of_a_message_is_its_beginning_and_its_end(here: Place) -> None:
    model = here.native("native")
    refuse_once(here)
    assert here.chat(model, PROMPT, **SMALL).status == 200
    content = here.calls("/v1/chat/completions")[-1]["messages"][0]["content"]
    assert content.startswith("The locker code is PLUM-4471.")
    assert content.endswith("What is the locker code?")


# case B001
@pytest.mark.parametrize("kind", ["template", "renderer", "native"])
def test_an_operator_can_have_errors_in_place_of_cuts(strict_place: Place, kind: str) -> None:
    model = models(strict_place)[kind]
    refuse_once(strict_place)
    for answer in (
        strict_place.chat(model, PROMPT, **SMALL),
        strict_place.generate(model, PROMPT, **SMALL),
        strict_place.chat(model, *CONVERSATION, **SMALL),
    ):
        assert answer.status == 400, answer
        assert " 512 " in answer.body["error"]
        assert any(char.isdigit() for char in answer.body["error"].partition(" tokens")[0])


# case B002
@pytest.mark.parametrize("stream", [True, False])
def test_all_models_have_one_policy(here: Place, stream: bool) -> None:
    found = {}
    for kind, model in models(here).items():
        answer = here.chat(model, *CONVERSATION, "and now?", stream=stream, **SMALL)
        assert answer.status == 200, answer
        found[kind] = answer.last["prompt_truncated"], answer.last["messages_dropped"] > 100
    assert set(found.values()) == {(True, True)}, found


# case B002
def test_aliases_of_one_file_have_one_policy(here: Place) -> None:
    model = here.model("templated", template=PLAIN)
    dropped = [
        here.chat(name, *CONVERSATION, "so?", **SMALL).body["messages_dropped"]
        for name in (model, here.alias("alias", model, system="Be brief."))
    ]
    assert min(dropped) > 100


# case B007
def test_a_full_window_is_told_from_a_used_up_budget(here: Place) -> None:
    model = here.model("templated", template=PLAIN)
    here.says(["a", "b", OUT_OF_BUDGET])
    budget = here.chat(model, "x", options={"num_predict": 2, "num_ctx": 8192}).body
    here.says(["a", "b", FULL_WINDOW])
    window = here.chat(model, "x", options={"num_predict": -1, "num_ctx": 64}).body
    assert budget["done_reason"] == window["done_reason"] == "length"
    assert (budget.get("done_detail"), window.get("done_detail")) == (None, "context_full")
