"""The commands of a session: lines that begin with a slash."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from orchestrator.cli import card, session_help
from orchestrator.cli.listing import print_models
from orchestrator.cli.settings import Settings, refuse_image_models
from orchestrator.client.errors import ApiError
from orchestrator.domain.names import DEFAULT_PARTS, NameParts
from orchestrator.domain.options import format_parameters
from orchestrator.domain.quoting import quoted
from orchestrator.errors import OrchestratorError

if TYPE_CHECKING:
    from orchestrator.cli.session import Session


QUOTES = '"""'
"""Stand around a text of several lines."""


class Leave(Exception):
    """The user wants to leave the session."""


def obey(session: Session, line: str) -> None:
    """Do what a line says; raises ``Leave`` at its end."""
    for prefix, command in _COMMANDS.items():
        if line.startswith(prefix):
            command(session, line)
            return
    _complain((line.split() or [line])[0])


def _complain(command: str) -> None:
    print(f"Unknown command '{command}'. Type /? for help")


def _list(session: Session, line: str) -> None:
    print_models(session.native, *line.split()[1:2])


def _load(session: Session, line: str) -> None:
    if (name := _only_argument(line)) is None:
        print("Usage:\n  /load <modelname>")
        return
    print(f"Loading model '{name}'")
    try:
        found = session.native.show(name)
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        print(f"Couldn't find model '{name}'")
        return
    refuse_image_models(found)
    session.settings = replace(session.settings, model=name, card=found)
    session.system = ""
    session.forget()
    try:
        session.load()
    except ApiError as error:
        session.tell(error)


def _save(session: Session, line: str) -> None:
    if (name := _only_argument(line)) is None:
        print("Usage:\n  /save <modelname>")
        return
    settings = session.settings
    request = {
        "model": name,
        "from": _parent(settings) or settings.model,
        "system": session.system,
        "parameters": settings.parameters,
        "messages": [*(settings.card.get("messages") or ()), *session.messages],
    }
    try:
        for _ in session.native.create({key: value for key, value in request.items() if value}):
            pass
    except ApiError as error:
        if "invalid model name" in str(error):
            print(f"error: The model name '{name}' is invalid")
        else:  # the conversation is worth more than the model that was to keep it
            print(f"error: could not save '{name}': {error}")
    else:
        print(f"Created new model '{name}'")


def _parent(settings: Settings) -> str:
    """The model that the current one was made from; empty if it was made from files."""
    parent = (settings.card.get("details") or {}).get("parent_model", "")
    return "" if NameParts.split(parent).merge(DEFAULT_PARTS).invalid_part else parent


def _clear(session: Session, line: str) -> None:
    session.forget()
    print("Cleared session context")


def _leave(session: Session, line: str) -> None:
    raise Leave


def _help(session: Session, line: str) -> None:
    match line.split()[1:]:
        case []:
            text = session_help.overview(takes_files=session.settings.takes_files)
        case ["set" | "/set", *_]:
            text = session_help.about_set()
        case ["show" | "/show", *_]:
            text = session_help.about_show()
        case ["shortcut" | "shortcuts", *_]:
            text = session_help.about_shortcuts()
        case _:
            text = ""
    print(text, end="", file=sys.stderr)


def _set(session: Session, line: str) -> None:
    settings = session.settings
    match line.split()[1:]:
        case ["history" | "nohistory" as word, *_]:
            session.editor.history.saving = word == "history"
        case ["wordwrap" | "nowordwrap" as word, *_]:
            settings.word_wrap = word == "wordwrap"
            print(f"Set '{word}' mode.")
        case ["verbose" | "quiet" as word, *_]:
            settings.verbose = word == "verbose"
            print(f"Set '{word}' mode.")
        case ["think" | "nothink" as word, *level]:
            _set_think(session, word, level[0] if level else "")
        case ["format", "json", *_]:
            settings.format = "json"
            print("Set format to 'json' mode.")
        case ["format", *_]:
            print("Invalid or missing format. For 'json' mode use '/set format json'")
        case ["noformat", *_]:
            settings.format = None
            print("Disabled format.")
        case ["parameter", name, *values] if values:
            _set_parameter(session, name, values)
        case ["parameter", *_]:
            print(session_help.about_parameters(), end="", file=sys.stderr)
        case ["system", _, *_]:
            _set_system(session, line)
        case [] | ["system"]:
            print(session_help.about_set(), end="", file=sys.stderr)
        case [word, *_]:
            _complain(f"/set {word}")


def _set_think(session: Session, word: str, level: str) -> None:
    session.settings.think = (level or True) if word == "think" else False
    if not session.settings.can("thinking"):
        model = session.settings.model
        print(f'warning: model "{model}" does not support thinking output', file=sys.stderr)
    chosen = f" to '{level}'" if level and word == "think" else ""
    print(f"Set '{word}' mode{chosen}.")


def _set_parameter(session: Session, name: str, values: list[str]) -> None:
    try:
        session.settings.parameters |= format_parameters({name: values})
    except OrchestratorError as error:
        print(f"Couldn't set parameter: {quoted(str(error))}")
    else:
        print(f"Set parameter '{name}' to '{', '.join(values)}'")


def _set_system(session: Session, line: str) -> None:
    text = line.split(maxsplit=2)[2]
    if text.startswith(QUOTES):
        text = session.read_block(text.removeprefix(QUOTES))
    session.set_system(text)


def _show(session: Session, line: str) -> None:
    found = session.settings.card
    match line.split()[1:]:
        case []:
            print(session_help.about_show(), end="", file=sys.stderr)
        case ["info", *_]:
            print(card.draw(found), end="", file=sys.stderr)
        case ["license", *_]:
            print(found.get("license") or "No license was specified for this model.")
        case ["modelfile", *_]:
            print(_modelfile(session))
        case ["parameters", *_]:
            _show_parameters(session)
        case ["system", *_]:
            text = session.system or found.get("system")
            print(f"{text}\n" if text else "No system message was specified for this model.")
        case ["template", *_]:
            print(found.get("template") or "No prompt template was specified for this model.")
        case [word, *_]:
            _complain(f"/show {word}")


def _modelfile(session: Session) -> str:
    """The Modelfile of the model, with what was set here."""
    settings = session.settings
    found = session.native.show(settings.model, system=session.system, options=settings.parameters)
    return found.get("modelfile", "")


def _show_parameters(session: Session) -> None:
    print("Model defined parameters:")
    lines = card.parameter_lines(session.settings.card)
    for line in lines or ("No additional parameters were specified for this model.",):
        print(f"  {line}")
    print()
    if parameters := session.settings.parameters:
        print("User defined parameters:")
        for name, value in sorted(parameters.items()):
            print(f"  {name:<30} {_shown(value)}")
        print()


def _shown(value: object) -> str:
    match value:
        case list():
            return f"[{' '.join(map(str, value))}]"
        case bool():
            return str(value).lower()
        case float():
            return card.scalar(value)
        case _:
            return str(value)


def _only_argument(line: str) -> str | None:
    words = line.split()[1:]
    return words[0] if len(words) == 1 else None


_COMMANDS: dict[str, Callable[[Session, str], None]] = {
    "/list": _list,
    "/load": _load,
    "/save": _save,
    "/clear": _clear,
    "/set": _set,
    "/show": _show,
    "/help": _help,
    "/?": _help,
    "/exit": _leave,
    "/bye": _leave,
}
