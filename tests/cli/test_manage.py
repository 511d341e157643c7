"""``orch cp``, ``rm`` and ``stop``."""

from __future__ import annotations

from tests.cli.conftest import Orch
from tests.native_server import NativeServer


def test_a_copy_is_told(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/copy")
    assert orch("cp", "a", "b").out == "copied 'a' to 'b'\n"


def test_removing_unloads_first_and_tells_each(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/show", {})
    server.says("POST /api/generate", {"done": True})
    server.says("DELETE /api/delete")
    printed = orch("rm", "a", "b")
    assert (printed.status, printed.out, printed.err) == (0, "deleted 'a'\ndeleted 'b'\n", "")
    asked = [f"{each.method} {each.path}" for each in server.requests[1:4]]
    assert asked == ["POST /api/show", "POST /api/generate", "DELETE /api/delete"]
    assert server.asked("POST /api/generate")[0] == {"model": "a", "keep_alive": "0s"}


def test_removing_ends_at_the_first_failure(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/show", {"error": "model 'a:latest' not found"}, status=404)
    server.says("DELETE /api/delete", {"error": "model 'a' not found"}, status=404)
    printed = orch("rm", "a", "b")
    assert (printed.status, printed.out, printed.err) == (1, "", "Error: model 'a' not found\n")
    assert len(server.asked("DELETE /api/delete")) == 1


def test_what_cannot_be_stopped_is_warned_of_and_removed(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/show", {"error": "invalid model name"}, status=400)
    server.says("DELETE /api/delete", {"error": 'name "a b" is invalid'}, status=400)
    printed = orch("rm", "a b")
    assert printed.err == "Warning: unable to stop model 'a b'\nError: name \"a b\" is invalid\n"


def test_stopping_is_silent(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/show", {})
    server.says("POST /api/generate", {"done": True})
    printed = orch("stop", "a")
    assert (printed.status, printed.out, printed.err) == (0, "", "")


def test_stopping_what_is_not_there_is_an_error(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/show", {"error": "model 'a:latest' not found"}, status=404)
    assert orch("stop", "a").err == 'Error: couldn\'t find model "a" to stop\n'


def test_other_errors_of_stopping_are_the_servers(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/show", {"error": "invalid model name"}, status=400)
    assert orch("stop", "a b").err == "Error: invalid model name\n"
