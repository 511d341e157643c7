"""``orch cp``, ``rm`` and ``stop``: models in the store and in memory, by name."""

from __future__ import annotations

import sys
from http import HTTPStatus

from orchestrator.cli.connection import server
from orchestrator.cli.progress import Display
from orchestrator.client.errors import ApiError
from orchestrator.client.native import NativeClient
from orchestrator.errors import NotFound


def copy(source: str, destination: str) -> None:
    """Give a model another name."""
    with server() as native:
        native.copy(source, destination)
    print(f"copied '{source}' to '{destination}'")


def remove(*names: str) -> None:
    """Remove models, one after the other, up to the first that fails."""
    with server() as native:
        for name in names:
            _stop_before_removal(native, name)
            native.delete(name)
            print(f"deleted '{name}'")


def stop(name: str) -> None:
    """Take a model out of memory; one that is not there is no error."""
    with server() as native:
        try:
            _unload(native, name)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                raise NotFound(f'couldn\'t find model "{name}" to stop') from error
            raise


def _stop_before_removal(native: NativeClient, name: str) -> None:
    try:
        _unload(native, name)
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            print(f"Warning: unable to stop model '{name}'", file=sys.stderr)


def _unload(native: NativeClient, name: str) -> None:
    with Display(keep=False) as display:
        display.spinner()
        native.show(name)
        native.load(name, keep_alive="0s")
