"""``docs/configuration.md``, written from the declarations of ``Config``."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from orchestrator.config import PASSED_ON, in_words, settings
from orchestrator.environment import Variable


def page() -> str:
    """``docs/configuration.md``."""
    read = [variable for _, variable in settings()]
    tables = (
        ("Ollama's variables", [v for v in read if v.name.startswith("OLLAMA_") and v.command != "run"]),
        ("Our own", [v for v in read if v.name.startswith("ORCH_")]),
        ("The command line", [v for v in read if v.command == "run"]),
        ("The system's", [v for v in read if not v.name.startswith(("OLLAMA_", "ORCH_"))]),
        ("Read by engines, which see the daemon's whole environment", list(PASSED_ON)),
    )
    return _INTRODUCTION + "".join(_table(title, variables) for title, variables in tables)


_INTRODUCTION = """# Configuration

`orch` is configured by environment variables. Blanks around a value, and quotes around it, are ignored; an
empty value is none. Variables of the server have to be set where `orch serve` starts. A value that cannot be
used is named in the log, with what takes its place; so are variables that nobody reads although their names
begin with `OLLAMA_` or `ORCH_`, and settings that undo one another.

- **boolean**: `1 t T true TRUE True`, `0 f F false FALSE False`; any other text counts as true.
- **duration**: numbers with the units `ns us ms s m h`, as in `1h30m`, or whole seconds; negative: for ever.
- **size**: bytes, or a number with one of the units `KiB MiB GiB TiB`.

This page is written by `python -m orchestrator.config_page`.
"""


def _table(title: str, variables: Iterable[Variable]) -> str:
    rows = "".join(
        f"| `{variable.name}` | {variable.kind.name if variable.kind else 'text'} "
        f"| {_default(variable)} | {variable.summary} |\n"
        for variable in variables
    )
    return f"\n## {title}\n\n| Variable | Kind | Default | Meaning |\n| --- | --- | --- | --- |\n{rows}"


def _default(variable: Variable) -> str:
    """The default for the page; one that depends on the environment is told in the summary."""
    if variable.shown or variable.default in (None, "", ()) or callable(variable.default):
        return variable.shown and f"`{variable.shown}`"
    return f"`{in_words(variable.default)}`"


if __name__ == "__main__":
    sys.stdout.write(page())
