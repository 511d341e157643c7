"""Thoughts: told apart from answers, the same streamed and plain, whatever ends them."""

from __future__ import annotations

from typing import Any

import pytest

from integration.cases.place import OUT_OF_BUDGET, THINKING, Place, deltas, folded, told

OPENED = THINKING + "<think>\n"
"""A template that opens the thought by itself."""
ACCEPTED: list[Any] = [True, False, "true", "false", "low", "medium", "high", None]
REFUSED: list[Any] = ["banana", 1, "", [], {}]
QUOTING = "The tag `</think>` closes a thought.</think>It does, see `</think>`."


def models(here: Place) -> dict[str, str]:
    return {
        "template": here.model("opened", template=OPENED),
        "qwen3.5": here.model("t-qwen35", renderer="qwen3.5", parser="qwen3.5"),
        "deepseek3": here.model("t-deepseek", renderer="deepseek3.1", parser="deepseek3"),
        "glm": here.model("t-glm", renderer="glm-4.7", parser="glm-4.7"),
    }


# case B048
@pytest.mark.parametrize("kind", ["template", "qwen3.5", "deepseek3", "glm"])
def test_a_thought_that_never_ends_is_thinking_and_no_content(here: Place, kind: str) -> None:
    model = models(here)[kind]
    here.says(["I wonder", " about", " it", OUT_OF_BUDGET])
    plain = told(here.chat(model, "hi", think=True, options={"num_predict": 3}))
    streamed = folded(here.streamed(model, "hi", think=True, options={"num_predict": 3}))
    assert plain == streamed
    assert (plain["thinking"], plain["content"]) == ("I wonder about it", "")
    assert plain["done_reason"] == "length"


# case B048
def test_the_same_holds_where_the_engine_parses(here: Place) -> None:
    model = here.native("native-thinks", "{{ messages }}<think>{{ enable_thinking }}</think>")
    thoughts = [{"reasoning_content": part} for part in ("I wonder", " about it")]
    here.script(
        answers={"/v1/chat/completions": [{"sse": deltas(*thoughts, finish="length")}]}, answers_repeat=True
    )
    plain, streamed = told(here.chat(model, "hi", think=True)), folded(here.streamed(model, "hi", think=True))
    assert plain == streamed
    assert (plain["thinking"], plain["content"], plain["done_reason"]) == ("I wonder about it", "", "length")


# case B048
def test_a_thought_that_never_ends_is_no_response_of_generate(here: Place) -> None:
    here.says(["I wonder", OUT_OF_BUDGET])
    body = here.generate(models(here)["template"], think=True).body
    assert (body["thinking"], body["response"], body["done_reason"]) == ("I wonder", "", "length")


# case B050
@pytest.mark.parametrize("kind", ["template", "qwen3.5", "deepseek3", "glm"])
@pytest.mark.parametrize("size", [1, 3, 200])
def test_the_first_closing_tag_that_is_not_quoted_ends_the_thought(here: Place, kind: str, size: int) -> None:
    model = models(here)[kind]
    here.says([QUOTING[at : at + size] for at in range(0, len(QUOTING), size)])
    found = folded(here.streamed(model, "explain the tag", think=True))
    assert found["thinking"] == "The tag `</think>` closes a thought."
    assert found["content"] == "It does, see `</think>`."
    assert told(here.chat(model, "explain the tag", think=True)) == found


# case B052
@pytest.mark.parametrize(
    ("think", "status"),
    [
        *((value, 200) for value in ACCEPTED),
        *((value, 400) for value in REFUSED),
    ],
)
@pytest.mark.parametrize("route", ["chat", "generate"])
def test_think_takes_switches_their_texts_and_levels(
    here: Place, route: str, think: Any, status: int
) -> None:
    model = models(here)["template"]
    answer = here.chat(model, "x", think=think) if route == "chat" else here.generate(model, think=think)
    assert answer.status == status, answer


# case B052
def test_the_text_true_means_true(here: Place) -> None:
    model = models(here)["qwen3.5"]
    assert here.prompt(model, "x", think="true") == here.prompt(model, "x", think=True)
    assert here.prompt(model, "x", think="false") == here.prompt(model, "x", think=False)
    assert here.prompt(model, "x", think="true") != here.prompt(model, "x", think="false")
