"""What is told of names that nobody knows, and of values that are set aside."""

from __future__ import annotations

from orchestrator.api.warnings import request_warnings

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
