"""What can go wrong between a client and the server.

::

    OrchestratorError
    ├── ServerUnreachable     no answer at all: refused, unknown host, broken TLS, cut off
    └── ApiError              the server answered that it cannot
        └── SignInNeeded      401 with the address of a sign-in page
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
