"""``orch signin`` and ``orch signout``: the account of this machine at ollama.com."""

from __future__ import annotations

import os
import sys
import webbrowser
from http import HTTPStatus

from orchestrator.cli.connection import server
from orchestrator.client.errors import ApiError, SignInNeeded

_DESKTOP = {"DISPLAY", "WAYLAND_DISPLAY"}
"""Without one of these a browser would open inside the terminal."""


def sign_in() -> None:
    """Say who is signed in, or where to do it."""
    with server() as native:
        try:
            user = native.me()
        except SignInNeeded as error:
            print("You need to be signed in to Ollama to run Cloud models.\n")
            ask_to_sign_in(error.url)
        else:
            print(f"You are already signed in as user '{user.get('name', '')}'\n")


def sign_out() -> None:
    """Forget the account on this machine."""
    with server() as native:
        try:
            native.sign_out()
        except ApiError as error:
            if error.status != HTTPStatus.UNAUTHORIZED:
                raise
            print("You are not signed in to ollama.com\n")
        else:
            print("You have signed out of ollama.com\n")


def ask_to_sign_in(url: str) -> None:
    """Open the sign-in page, and say where it is in case that does not work."""
    if sys.platform in ("darwin", "win32") or _DESKTOP & os.environ.keys():
        webbrowser.open(url)
    print(f"If your browser did not open, navigate to:\n    {url}\n")
