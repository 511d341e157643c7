"""Which web pages may call the daemon: those listed in ``OLLAMA_ORIGINS``, and those that always may.

Source: ``api-native`` §2.3. An entry may hold one ``*``; where it stands for a port it takes digits only, so
that ``http://localhost:1@example.com`` is no origin of this machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator.errors import OrchestratorError

_LOCAL = tuple(
    f"{scheme}://{host}{port}"
    for host in ("localhost", "127.0.0.1", "0.0.0.0")
    for port in ("", ":*")
    for scheme in ("http", "https")
)
_APPS = ("app://*", "file://*", "tauri://*", "vscode-webview://*", "vscode-file://*")
_SCHEMES = (
    "http://",
    "https://",
    "chrome-extension://",
    "safari-extension://",
    "moz-extension://",
    "ms-browser-extension://",
)

_METHODS = "GET,POST,PUT,PATCH,DELETE,HEAD,OPTIONS"
_STAINLESS = (
    "Arch", "Async", "Custom-Poll-Interval", "Helper-Method", "Lang", "Os", "Package-Version", "Poll-Helper",
    "Retry-Count", "Runtime", "Runtime-Version", "Timeout",
)  # fmt: skip
_HEADERS = ",".join(
    (
        *("Authorization", "Content-Type", "User-Agent", "Accept", "X-Requested-With", "Openai-Beta"),
        *(f"X-Stainless-{name}" for name in _STAINLESS),
    )
)
_MAX_AGE_S = "43200"


class InvalidOrigin(OrchestratorError):
    """An entry of ``OLLAMA_ORIGINS`` that cannot match any page; the daemon does not start with one."""

    hint = "origins look like https://example.com, app://name or http://localhost:*"


@dataclass(frozen=True, slots=True)
class Origins:
    """Decides which origins may call, and with which headers they are told so."""

    exact: frozenset[str]
    patterns: tuple[re.Pattern[str], ...]
    everyone: bool = False

    @classmethod
    def parse(cls, entries: Iterable[str]) -> Origins:
        """The list given by the user, and the built-in one. Raises ``InvalidOrigin``."""
        exact, patterns, everyone = set(), [], False
        for entry in (*(e for given in entries if (e := given.strip())), *_LOCAL, *_APPS):
            if entry == "*":
                everyone = True
            elif "*" in entry:
                patterns.append(_pattern(entry))
            elif entry.startswith(_SCHEMES):
                exact.add(entry.lower())
            else:
                raise InvalidOrigin(
                    f"OLLAMA_ORIGINS: {entry!r} has no scheme browsers send: {', '.join(_SCHEMES)}"
                )
        return cls(frozenset(exact), tuple(patterns), everyone)

    def allow(self, origin: str) -> bool:
        """Whether pages of ``origin`` may call."""
        return (
            self.everyone
            or origin in self.exact
            or any(pattern.fullmatch(origin) for pattern in self.patterns)
        )

    def headers(self, origin: str) -> Mapping[str, str]:
        """What an allowed origin reads on an ordinary reply."""
        if self.everyone:
            return {"Access-Control-Allow-Origin": "*"}
        return {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}

    def preflight_headers(self, origin: str) -> Mapping[str, str]:
        """What an allowed origin reads when it asks first."""
        headers = {
            "Access-Control-Allow-Methods": _METHODS,
            "Access-Control-Allow-Headers": _HEADERS,
            "Access-Control-Max-Age": _MAX_AGE_S,
        }
        if self.everyone:
            return {"Access-Control-Allow-Origin": "*"} | headers
        return headers | {
            "Access-Control-Allow-Origin": origin,
            "Vary": "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
        }


def is_same_origin(origin: str, host: str) -> bool:
    """Whether a page of ``origin`` came from the daemon itself, reached as ``host``."""
    return origin in (f"http://{host}", f"https://{host}")


def _pattern(entry: str) -> re.Pattern[str]:
    before, *rest = entry.lower().split("*")
    if len(rest) != 1:
        raise InvalidOrigin(f"OLLAMA_ORIGINS: {entry!r} has more than one *")
    star = "[0-9]+" if re.search(r"://.*:$", before) else ".*"
    return re.compile(re.escape(before) + star + re.escape(rest[0]), re.DOTALL)
