"""The line editor of a session: prompt, keys, history, and a way out to a real editor."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History as PromptHistory
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.output.vt100 import Vt100_Output

from orchestrator.cli.history import History
from orchestrator.config import Config
from orchestrator.domain.quoting import quoted

_PROMPT, _CONTINUED = ">>> ", "... "
_MESSAGE_HINT, _BLOCK_HINT = "Send a message (/? for help)", "Press Enter to send"
_GREY = "fg:#8a8a8a"  # the nearest of the 256 colours is 245
_TAB = " " * 8
_STRAY_BYTE = re.compile("[\udc80-\udcff]")
"""How Python reads a byte that is no UTF-8, and cannot write it."""


class Interrupted(Exception):
    """The user threw away what was typed."""


class _EditElsewhere(Exception):
    """The user wants to go on writing in an editor."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Editor:
    """Reads one message at a time from the terminal."""

    def __init__(
        self,
        history: History,
        editor_command: str,
        *,
        keyboard: Input | None = None,
        display: Output | None = None,
    ) -> None:
        self.history = history
        self.has_pasted_lines = False
        """Lines were pasted into what was read last: they are no commands, whatever they begin with."""
        self._editor_command = editor_command
        self._hint = _Hint()
        self._session: PromptSession[str] = PromptSession(
            multiline=True,
            prompt_continuation=_CONTINUED,
            history=_Remembered(history),
            key_bindings=_keys(self._hint, self._pasted),
            input_processors=[self._hint],
            reserve_space_for_menu=0,
            enable_suspend=True,
            include_default_pygments_style=False,
            input=keyboard or create_input(sys.stdin),
            output=display or _terminal(),
        )

    @classmethod
    def of_user(cls) -> Self:
        """With the user's history and preferred editor."""
        config = Config.from_environ(os.environ)
        history = History(config.home / ".ollama" / "history", saving=not config.nohistory)
        command = config.editor or os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        return cls(history, command)

    def read(self, *, continued: bool = False) -> str:
        """The next message, or with ``continued`` the next line of a block.

        Raises ``Interrupted`` on Ctrl+C and ``EOFError`` on Ctrl+D.
        """
        text = ""
        self.has_pasted_lines = False
        while True:
            self._hint.first = _BLOCK_HINT if continued else _MESSAGE_HINT
            self._session.app.erase_when_done = False
            try:
                text = self._session.prompt(_CONTINUED if continued else _PROMPT, default=text)
            except KeyboardInterrupt:
                raise Interrupted from None
            except _EditElsewhere as wish:
                text = self._edit(wish.text)
            else:
                text = _STRAY_BYTE.sub("\ufffd", text)
                self.has_pasted_lines &= _has_lines(text)
                self.history.add(text)
                return text

    def _pasted(self, text: str) -> None:
        self.has_pasted_lines |= _has_lines(text)

    def _edit(self, text: str) -> str:
        """What a real editor makes of the text; empty, with a word why, when it fails."""
        words = _words(self._editor_command)
        if shutil.which(words[0]) is None:
            name = quoted(words[0])
            print(f"error: editor {name} not found, set OLLAMA_EDITOR to the path of your preferred editor")
            return ""
        with tempfile.NamedTemporaryFile("w+", suffix=".txt", encoding="utf-8", delete=False) as file:
            file.write(text)
        path = Path(file.name)
        try:
            status = subprocess.run([*words, str(path)], check=False).returncode
            if status:
                print(f"error: editor exited with error: exit status {status}")
                return ""
            edited = path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
            return edited if edited.strip() else ""
        finally:
            path.unlink(missing_ok=True)


def _has_lines(text: str) -> bool:
    return "\n" in text.rstrip("\n")


def _words(command: str) -> list[str]:
    """The words of a command; quotes that are not closed are letters like any other."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return words or [command]


class _Remembered(PromptHistory):
    """Our history, as the prompt library wants it; what it adds itself, we add again and keep."""

    def __init__(self, history: History) -> None:
        super().__init__()
        self._history = history

    def load_history_strings(self) -> Iterable[str]:
        return reversed(self._history.lines)

    def store_string(self, string: str) -> None:
        """Files are not written while the library's event loop runs."""


class _Hint(Processor):
    """Grey words on the last line while it is empty; a line broken by hand has other ones than a first."""

    def __init__(self) -> None:
        self.first = self.next = _MESSAGE_HINT

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        document = transformation_input.document
        fragments: StyleAndTextTuples = transformation_input.fragments
        is_last = transformation_input.lineno == document.line_count - 1
        if is_last and not document.lines[-1] and not get_app().is_done:
            text = self.next if transformation_input.lineno else self.first
            fragments = [*fragments, (_GREY, text)]
        return Transformation(fragments)


def _keys(hint: _Hint, pasted: Callable[[str], None]) -> KeyBindings:
    """The keys that do not do what the library would have them do; ``pasted`` is told what is pasted."""
    keys = KeyBindings()

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("c-j", eager=True)
    def break_line(event: KeyPressEvent) -> None:
        hint.next = _BLOCK_HINT
        event.current_buffer.insert_text("\n")

    @keys.add(Keys.BracketedPaste, eager=True)
    def paste(event: KeyPressEvent) -> None:
        hint.next = _MESSAGE_HINT
        text = event.data.replace("\r\n", "\n").replace("\r", "\n")
        pasted(text)
        event.current_buffer.insert_text(text)

    @keys.add("tab")
    def indent(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(_TAB)

    @keys.add("c-g", eager=True)
    def edit_elsewhere(event: KeyPressEvent) -> None:
        event.app.erase_when_done = True
        event.app.exit(exception=_EditElsewhere(event.current_buffer.text))

    return keys


def _terminal() -> Vt100_Output:
    """The terminal, not asked where its cursor is: the reply would mix with what is typed."""
    output = Vt100_Output.from_pty(sys.stdout, default_color_depth=ColorDepth.DEPTH_8_BIT)
    output.enable_cpr = False
    return output
