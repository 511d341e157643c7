"""The commands of the program: their names, arguments and where their code is.

Kept apart from the code, so that help and complaints need none of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.cli.grammar import Flag, Kind, UsageError, switch
from orchestrator.domain.quoting import quoted

PROGRAM = "orch"


@dataclass(frozen=True, slots=True)
class Count:
    """How many words a command takes; ``most`` None is any number."""

    least: int
    most: int | None

    def check(self, words: Sequence[str]) -> None:
        """Raise ``UsageError`` when there are too few or too many words."""
        given = len(words)
        if self.most is None:
            if given < self.least:
                raise UsageError(f"requires at least {self.least} arg(s), only received {given}")
        elif not self.least <= given <= self.most:
            number = self.most if self.least == self.most else f"between {self.least} and {self.most}"
            raise UsageError(f"accepts {number} arg(s), received {given}")


_NONE, _ONE, _TWO = Count(0, 0), Count(1, 1), Count(2, 2)
_ANY, _SOME = Count(0, None), Count(1, None)
_AT_MOST_ONE, _ONE_OR_TWO = Count(0, 1), Count(1, 2)


@dataclass(frozen=True, slots=True)
class Entry:
    """One command.

    ``code`` names its function as ``module:function`` below this package. The function takes the words in
    their order and the flags by name; a flag not given is not passed, so its default stands in the signature.
    """

    name: str
    summary: str
    count: Count
    code: str
    usage: str = ""
    flags: tuple[Flag, ...] = ()
    variables: tuple[str, ...] = ("OLLAMA_HOST",)
    aliases: tuple[str, ...] = ()
    hidden: bool = False


HELP = switch("help", "Show this help", short="h")

PROGRAM_FLAGS = (
    HELP,
    switch("nowordwrap", "Leave long lines to the terminal"),
    switch("verbose", "Show how long answers take"),
    switch("version", "Show the version", short="v"),
)

_INSECURE = switch("insecure", "Allow a registry without TLS or with an unknown certificate")

_CREATE_FLAGS = (
    Flag("draft-quantize", Kind.TEXT, "Quantize the draft model to this level"),
    switch("experimental", "Read safetensors in this process"),
    Flag("file", Kind.TEXT, "Path of the Modelfile", short="f", default='"Modelfile"'),
    HELP,
    Flag("quantize", Kind.TEXT, "Quantize the model to this level (e.g. q4_K_M)", short="q"),
)

_SHOW_FLAGS = (
    HELP,
    switch("license", "Print the license"),
    switch("modelfile", "Print the Modelfile"),
    switch("parameters", "Print the parameters"),
    switch("system", "Print the system message"),
    switch("template", "Print the prompt template"),
    switch("verbose", "Add metadata and tensors", short="v"),
)

_RUN_FLAGS = (
    Flag("dimensions", Kind.NUMBER, "Cut vectors to this length (embedding models)"),
    Flag("format", Kind.TEXT, "Form of the answer: json, or a JSON schema"),
    HELP,
    switch("hidethinking", "Do not show what the model thinks"),
    _INSECURE,
    Flag("keepalive", Kind.TEXT, "How long the model stays in memory afterwards (e.g. 5m)"),
    switch("nowordwrap", "Leave long lines to the terminal"),
    Flag("think", Kind.TEXT, "Think before answering: true, false, high, medium, low or max", bare="true"),
    switch("truncate", "Cut input that is too long (embedding models)", default="true"),
    switch("verbose", "Show how long the answer took"),
)

_VERIFY_FLAGS = (
    HELP,
    _INSECURE,
    switch("repair", "Fetch what is damaged or missing again"),
)

_PRUNE_FLAGS = (
    switch("dry-run", "Only say what would go"),
    HELP,
    switch("yes", "Do not ask", short="y"),
)

_ENGINE_FLAGS = (
    switch("dry-run", "With prune: only say what would go"),
    HELP,
    Flag("jobs", Kind.NUMBER, "Files to compile at one time; unset is one per core", short="j"),
    Flag("preset", Kind.TEXT, "What to build: native, cpu, cuda, rocm, vulkan or metal", default="native"),
    switch("yes", "With prune: do not ask", short="y"),
)

_SERVE_VARIABLES = (
    "OLLAMA_DEBUG",
    "OLLAMA_HOST",
    "OLLAMA_CONTEXT_LENGTH",
    "OLLAMA_KEEP_ALIVE",
    "OLLAMA_MAX_LOADED_MODELS",
    "OLLAMA_MAX_TRANSFER_STREAMS",
    "OLLAMA_MAX_QUEUE",
    "OLLAMA_MODELS",
    "OLLAMA_NUM_PARALLEL",
    "OLLAMA_NO_CLOUD",
    "OLLAMA_NOPRUNE",
    "OLLAMA_ORIGINS",
    "OLLAMA_SCHED_SPREAD",
    "OLLAMA_FLASH_ATTENTION",
    "OLLAMA_KV_CACHE_TYPE",
    "OLLAMA_LLM_LIBRARY",
    "OLLAMA_GPU_OVERHEAD",
    "OLLAMA_IGPU_ENABLE",
    "LLAMA_ARG_FIT",
    "LLAMA_ARG_FIT_TARGET",
    "OLLAMA_LOAD_TIMEOUT",
)

COMMANDS = (
    Entry(
        "serve",
        "Start the server",
        _NONE,
        "serve:serve",
        flags=(HELP,),
        variables=_SERVE_VARIABLES,
        aliases=("start",),
    ),
    Entry("create", "Make a model from a Modelfile", _ONE, "create:create", "MODEL", _CREATE_FLAGS),
    Entry("show", "Tell about a model", _ONE, "show:show", "MODEL", _SHOW_FLAGS),
    Entry(
        "run",
        "Talk to a model",
        _SOME,
        "run:run",
        "MODEL [PROMPT]",
        _RUN_FLAGS,
        variables=("OLLAMA_EDITOR", "OLLAMA_HOST", "OLLAMA_NOHISTORY"),
    ),
    Entry("stop", "Take a model out of memory", _ONE, "manage:stop", "MODEL", (HELP,)),
    Entry("pull", "Fetch a model from a registry", _ONE, "transfers:pull", "MODEL", (HELP, _INSECURE)),
    Entry("push", "Send a model to a registry", _ONE, "transfers:push", "MODEL", (HELP, _INSECURE)),
    Entry("signin", "Sign in to ollama.com", _NONE, "account:sign_in", flags=(HELP,), variables=()),
    Entry(
        "login", "Sign in to ollama.com", _NONE, "account:sign_in", flags=(HELP,), variables=(), hidden=True
    ),
    Entry("signout", "Sign out of ollama.com", _NONE, "account:sign_out", flags=(HELP,), variables=()),
    Entry(
        "logout",
        "Sign out of ollama.com",
        _NONE,
        "account:sign_out",
        flags=(HELP,),
        variables=(),
        hidden=True,
    ),
    Entry(
        "list", "List the models in the store", _ANY, "listing:list_models", flags=(HELP,), aliases=("ls",)
    ),
    Entry("ps", "List the models in memory", _ANY, "listing:list_running", flags=(HELP,)),
    Entry("cp", "Give a model another name", _TWO, "manage:copy", "SOURCE DESTINATION", (HELP,)),
    Entry("rm", "Remove models", _SOME, "manage:remove", "MODEL [MODEL...]", (HELP,)),
    Entry("verify", "Look for damage in the store", _AT_MOST_ONE, "upkeep:verify", "[MODEL]", _VERIFY_FLAGS),
    Entry("prune", "Remove what no model uses", _NONE, "upkeep:prune", flags=_PRUNE_FLAGS),
    Entry(
        "export",
        "Write a model to a file (- is standard output)",
        _ONE_OR_TWO,
        "archives:export_model",
        "MODEL [FILE]",
        (HELP,),
    ),
    Entry(
        "import",
        "Read models from an exported file (- is standard input)",
        _ONE,
        "archives:import_models",
        "FILE",
        (HELP,),
    ),
    Entry(
        "engine",
        "Build, list, examine or clear away the engines that run models",
        _ONE,
        "engine:engine",
        "build|list|doctor|prune",
        _ENGINE_FLAGS,
        variables=("ORCH_ENGINE", "ORCH_LLAMA_SERVER", "ORCH_LLAMA_CPP_SOURCE"),
    ),
    Entry("help", "Tell about a command", _ANY, "help:help_on", "[command]", (HELP,), variables=()),
)


def find(name: str) -> Entry | None:
    """The command of that name or alias."""
    return next((entry for entry in COMMANDS if name in (entry.name, *entry.aliases)), None)


def visible() -> Iterable[Entry]:
    """The commands help lists, in its order."""
    return (entry for entry in COMMANDS if not entry.hidden)


def unknown(name: str) -> UsageError:
    """The complaint about a command that does not exist, with those that look like it."""
    message = f'unknown command {quoted(name)} for "{PROGRAM}"'
    if near := [entry.name for entry in visible() if _resembles(entry.name, name)]:
        message += "\n\nDid you mean this?\n" + "".join(f"\t{each}\n" for each in near)
    return UsageError(message)


def _resembles(name: str, typed: str) -> bool:
    typed, name = typed.lower(), name.lower()
    return name.startswith(typed) or distance(name, typed) <= 2


def distance(one: str, other: str) -> int:
    """Edits (insert, delete, replace) that turn one word into the other."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        above, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]
