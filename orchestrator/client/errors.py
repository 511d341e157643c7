"""What can go wrong between a client and the server.

::

    OrchestratorError
    ├── ServerUnreachable     no answer at all: refused, unknown host, broken TLS, cut off
    └── ApiError              the server answered that it cannot
        ├── SignInNeeded      401 with the address of a sign-in page
        └── UnreadableReply   200 with something that no server of this API says
"""

from __future__ import annotations

from orchestrator.errors import OrchestratorError


class ServerUnreachable(OrchestratorError):
    """Nothing usable came back from the server's address."""

    def __init__(self, message: str, *, refused: bool) -> None:
        super().__init__(message)
        self.refused = refused
        """Nobody listens there; starting the server helps."""


class ApiError(OrchestratorError):
    """The server's own words; ``status`` is 200 when they came inside a stream."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class SignInNeeded(ApiError):
    """The call needs an account; ``url`` is where a person can sign in."""

    def __init__(self, message: str, *, url: str) -> None:
        super().__init__(message, status=401)
        self.url = url


class UnreadableReply(ApiError):
    """An answer that is not of this API: something else listens at the server's address."""

    hint = "is OLLAMA_HOST the address of such a server?"

    def __init__(self, text: str) -> None:
        super().__init__(f"unexpected answer: {text.strip()[:200]}", status=200)
