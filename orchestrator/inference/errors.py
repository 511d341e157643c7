"""Why a request is refused before or while a model answers it.

The texts are wire format: clients of Ollama compare them. Source: ``api-native`` §3, §4.4, §7.2, §8.6.
"""

from __future__ import annotations

from orchestrator.domain.quoting import quoted
from orchestrator.errors import BadRequest, Forbidden, NotFound, OrchestratorError


class ModelRequired(BadRequest):
    """No model was named."""

    def __init__(self) -> None:
        super().__init__("model is required")


class InvalidModelName(BadRequest):
    """A name that cannot be a model's; the text is Ollama's, ``advice`` says which and why."""

    def __init__(self, advice: str | None = None) -> None:
        super().__init__("invalid model name")
        self.advice = advice


class ModelNotFound(NotFound):
    """No such model, in the words of chat and generate."""

    hint = "pull or create the model first; `orch list` shows what is there"

    def __init__(self, name: str) -> None:
        super().__init__(f"model '{name}' not found")


class ModelNotPulled(NotFound):
    """No such model, in the words of the embedding routes."""

    hint = "pull or create the model first; `orch list` shows what is there"

    def __init__(self, name: str) -> None:
        super().__init__(f"model {quoted(name)} not found, try pulling it first")


class CloudDisabled(Forbidden):
    """A model that runs on somebody else's machine."""

    def __init__(self, what: str = "remote model is unavailable") -> None:
        super().__init__(f"ollama cloud is disabled: {what}")


class RemoteNotAllowed(BadRequest):
    """A model on a server that the user does not list in ``OLLAMA_REMOTES``."""

    hint = "OLLAMA_REMOTES lists the hosts that models may be on"

    def __init__(self) -> None:
        super().__init__("this server cannot run this remote model")


class MissingCapability(BadRequest):
    """The model cannot do what the request asks for."""


class InvalidTopLogprobs(BadRequest):
    """``top_logprobs`` out of range."""

    def __init__(self) -> None:
        super().__init__("top_logprobs must be between 0 and 20")


class RawExcludesTemplate(BadRequest):
    """``raw`` together with fields that only a template can use."""

    def __init__(self) -> None:
        super().__init__("raw mode does not support template, system, or context")


class PromptTooLong(BadRequest):
    """The prompt does not fit and may not be cut. Ollama's text, for ``shift: false``."""

    def __init__(self) -> None:
        super().__init__(
            "the prompt is longer than the context length currently available to the model; shorten the "
            "prompt, adjust the context length in settings, or use a model with a longer context length"
        )


class ContextOverflow(BadRequest):
    """The prompt does not fit, and the operator wants errors instead of cuts."""

    hint = "raise num_ctx, shorten the conversation, or set ORCH_CONTEXT_OVERFLOW=truncate"

    def __init__(self, *, prompt_tokens: int, num_ctx: int) -> None:
        super().__init__(
            f"the prompt has {prompt_tokens} tokens, more than the context window of {num_ctx} tokens holds; "
            "raise num_ctx or shorten the prompt"
        )
        self.prompt_tokens, self.num_ctx = prompt_tokens, num_ctx


class TooManyImagesInChat(OrchestratorError):
    """More images in one message than the model takes; a chat answers with another status than a prompt."""


class TemplateUnusable(OrchestratorError):
    """The template of a request cannot be read."""


class ReplacedModel(OrchestratorError):
    """A model format that was given up."""

    def __init__(self) -> None:
        super().__init__(
            "'llama3.2-vision' is no longer compatible with your version of Ollama and has been replaced by "
            "a newer version. To re-download, run 'ollama pull llama3.2-vision'"
        )
