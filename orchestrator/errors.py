"""The errors we raise on purpose.

::

    OrchestratorError                 root; str() is written for a person
    ├── BadRequest                    the client asked for something that cannot be (400)
    ├── NotFound                      a model or blob that is not there (404)
    ├── Unauthorized                  who asks has shown no API key, or none of ours (401)
    ├── Forbidden                     refused by policy (403)
    ├── QueueFull                     too many requests wait already (503)
    ├── RequestCanceled               the client went away while it sent its request (499)
    ├── ShuttingDown                  the daemon stops, though somebody waits for it (503)
    ├── EngineRefused                 the engine answered with an HTTP error; carries its status
    │   └── UnreadableAnswer          … or with something that is no answer
    ├── RunnerFailed                  the engine could not start, died or broke off (500)
    └── StoreError                    the disk said no (500)

Packages add leaves in their own ``errors.py``. A class exists because someone catches it or answers with
another status. Status codes and bodies are chosen in ``api/errors.py`` alone.
"""

from __future__ import annotations


class OrchestratorError(Exception):
    """Root of every error we raise on purpose; str() is written for a person."""

    hint: str | None = None
    """What to do about it; for the log and the command line, never on the wire."""

    advice: str | None = None
    """What the text leaves open that others wrote and clients compare: on the wire it stands beside it."""


class BadRequest(OrchestratorError):
    """The request cannot be served as it is; trying again does not help."""


class NotFound(OrchestratorError):
    """A model or blob that is not there."""


class Unauthorized(OrchestratorError):
    """Whoever asks has not shown an API key that opens the server."""


class Forbidden(OrchestratorError):
    """Refused by policy: cloud features, origins, hosts."""


class QueueFull(OrchestratorError):
    """More requests wait for a runner than ``OLLAMA_MAX_QUEUE`` allows."""

    hint = "send fewer requests at once, or raise OLLAMA_MAX_QUEUE"

    def __init__(self) -> None:
        super().__init__("server busy, please try again.  maximum pending requests exceeded")


class RequestCanceled(OrchestratorError):
    """The client went away before all of its request was there."""

    def __init__(self) -> None:
        super().__init__("request canceled")


class ShuttingDown(OrchestratorError):
    """The daemon stops: a request waits in vain, an answer breaks off."""

    def __init__(self) -> None:
        super().__init__("the server is shutting down")


class EngineRefused(OrchestratorError):
    """The engine answered a call with an HTTP error; ``status`` and text are passed on."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class UnreadableAnswer(EngineRefused):
    """The engine answered with something else than what was asked for; told as its refusal."""

    def __init__(self, message: str) -> None:
        super().__init__(message, status=400)


class RunnerFailed(OrchestratorError):
    """The engine could not start, died, or broke off in the middle of an answer."""

    def __init__(self, message: str, *, out_of_memory: bool = False, hint: str | None = None) -> None:
        super().__init__(message)
        self.out_of_memory = out_of_memory
        if hint is not None:
            self.hint = hint
        elif out_of_memory:
            self.hint = "try a smaller num_ctx, or a smaller quantization of the model"


class StoreError(OrchestratorError):
    """Reading or writing the model store failed."""


def words_of(error: OSError) -> str:
    """What the system says, and of which file if of one: ``/etc/x: permission denied``."""
    return f"{error.filename}: {reason_of(error)}" if error.filename else reason_of(error)


def reason_of(error: OSError) -> str:
    """What the system says of an error, without number and path: ``no such file or directory``."""
    return (error.strerror or str(error)).lower()
