"""What is told of names that nobody knows, and of values that are set aside."""

from __future__ import annotations

from orchestrator.api.warnings import request_warnings, unusual_roles

KEYS = frozenset({"model", "messages", "content"})


def test_an_ordinary_request_is_not_warned_of() -> None:
    assert request_warnings((), {"num_ctx": 5, "stop": ["x"]}, KEYS) == ()
    assert request_warnings((), {"mirostat": None}, KEYS) == ()


def test_unknown_keys_and_options_are_named_with_what_may_have_been_meant() -> None:  # case B067
    assert request_warnings(("message", "messages[0].contents", "zzz"), {"num_ctxt": 1}, KEYS) == (
        'unknown key "message" ignored, did you mean "messages"?',
        'unknown key "messages[0].contents" ignored, did you mean "content"?',
        'unknown key "zzz" ignored',
        'unknown option "num_ctxt" ignored, did you mean "num_ctx"?',
    )


def test_a_role_that_a_template_may_not_know_is_told_with_what_may_have_been_meant() -> None:
    assert list(unusual_roles(["system", "user", "assistant", "tool", "developer"])) == []
    assert list(unusual_roles(["user", "", "asistant", "king"])) == [
        "messages[1] has no role: the model's template may leave it out",
        'messages[2].role "asistant" counts only where the model\'s template knows it; '
        'did you mean "assistant"?',
        'messages[3].role "king" counts only where the model\'s template knows it; '
        "usual are system, user, assistant, tool, developer",
    ]
