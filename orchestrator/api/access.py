"""API keys: who is let in (``ORCH_API_KEYS``, ``ORCH_API_KEYS_FILE``).

Clients send a key as OpenAI's do (``Authorization: Bearer KEY``) or as Anthropic's (``X-Api-Key: KEY``). The
file is read again when it changes, so a key is given and taken away without a restart; a file that cannot
be read any more leaves the keys as they were, for neither may a slip of an editor open the server nor shut
everybody out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from orchestrator.domain.api_keys import ApiKeys, InvalidApiKeys
from orchestrator.errors import OrchestratorError, Unauthorized, words_of

logger = logging.getLogger(__name__)

CHALLENGE = 'Bearer realm="orch"'
"""What ``WWW-Authenticate`` says to those who are refused."""
_HOW = "send one as 'Authorization: Bearer KEY' or 'X-Api-Key: KEY' (command line: set OLLAMA_API_KEY)"

_Version = tuple[int, int, int]


class UnusableApiKeys(OrchestratorError):
    """The keys cannot be read, so the server cannot know whom to let in."""


class Access:
    """Lets those in who have a key."""

    def __init__(self, entries: Iterable[str], file: Path | None = None) -> None:
        """``entries`` hold for good, those in ``file`` while they are there. Raises ``UnusableApiKeys``."""
        self._fixed = _parsed("ORCH_API_KEYS", entries)
        self._file = file
        self._version: _Version | None = None
        self._keys = self._fixed
        if file is not None:
            self._version = _version(file)
            self._keys = self._fixed | _read(file)
        if not self._keys.owners:
            raise UnusableApiKeys(f"{file or 'ORCH_API_KEYS'} holds no key, so nobody could use the server")

    def user(self, headers: Mapping[str, str]) -> str:
        """Whose key stands in the headers of a request. Raises ``Unauthorized``."""
        self._refresh()
        key = _key_in(headers)
        if not key:
            raise Unauthorized(f"this server wants an API key: {_HOW}")
        owner = self._keys.owner(key)
        if owner is None:
            raise Unauthorized(f"the API key is not one that this server knows: {_HOW}")
        return owner

    def _refresh(self) -> None:
        if self._file is None or (version := _version(self._file)) == self._version:
            return
        self._version = version
        try:
            self._keys = self._fixed | _read(self._file)
        except UnusableApiKeys as error:
            logger.error("API keys stay as they were: %s", error)
        else:
            logger.info("API keys read again", extra={"keys": len(self._keys.owners)})


def _key_in(headers: Mapping[str, str]) -> str:
    scheme, _, key = headers.get("Authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" and key.strip() else headers.get("X-Api-Key", "").strip()


def _version(file: Path) -> _Version | None:
    """What differs as soon as somebody has written the file; ``None`` while there is none."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(file: Path) -> ApiKeys:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = words_of(error) if isinstance(error, OSError) else "it is not UTF-8"
        raise UnusableApiKeys(f"ORCH_API_KEYS_FILE: {why}") from error
    return _parsed(str(file), text.splitlines())


def _parsed(place: str, entries: Iterable[str]) -> ApiKeys:
    try:
        return ApiKeys.parse(entries)
    except InvalidApiKeys as error:
        raise UnusableApiKeys(f"{place}: {error}") from error
