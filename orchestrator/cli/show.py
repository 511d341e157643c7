"""``orch show``: all about one model, or one part of it."""

from __future__ import annotations

from orchestrator.cli import card
from orchestrator.cli.connection import server
from orchestrator.cli.grammar import UsageError
from orchestrator.cli.settings import refuse_image_models
from orchestrator.client.wire import ModelCard


def show(
    model: str,
    *,
    license: bool = False,
    modelfile: bool = False,
    parameters: bool = False,
    system: bool = False,
    template: bool = False,
    verbose: bool = False,
) -> None:
    """Print what is known about a model."""
    parts = {
        "license": license,
        "modelfile": modelfile,
        "parameters": parameters,
        "system": system,
        "template": template,
    }
    wanted = [name for name, is_wanted in parts.items() if is_wanted]
    with server() as native:
        if len(wanted) > 1:
            raise UsageError(
                "only one of '--license', '--modelfile', '--parameters', '--system', or '--template' "
                "can be specified"
            )
        found = native.show(model, verbose=verbose)
    refuse_image_models(found)
    print(_part(found, wanted[0]) if wanted else card.draw(found, verbose=verbose), end="")


def _part(found: ModelCard, name: str) -> str:
    match name:
        case "license":
            return f"{found.get('license', '')}\n"
        case "modelfile":
            return f"{found.get('modelfile', '')}\n"
        case "parameters":
            return "\n".join(card.parameter_lines(found)) + "\n"
        case "system":
            return found.get("system", "")
        case _:
            return found.get("template", "")
