"""A conversation at the terminal: reads lines, sends messages, remembers what was said."""

from __future__ import annotations

from contextlib import closing

from orchestrator.cli import slash
from orchestrator.cli.answer import Answer, print_metrics
from orchestrator.cli.attachments import references, take_files
from orchestrator.cli.editor import Editor, Interrupted
from orchestrator.cli.progress import Display
from orchestrator.cli.settings import Settings
from orchestrator.cli.slash import QUOTES
from orchestrator.client.errors import ApiError
from orchestrator.client.native import NativeClient
from orchestrator.client.wire import ChatChunk, Message, Said

_GO_ON = ("does not support thinking", "invalid think value")
"""What the server says of a setting that can be changed."""


def converse(native: NativeClient, settings: Settings) -> None:
    """Talk until the user leaves."""
    session = Session(native, settings, Editor.of_user())
    session.load()
    session.replay()
    session.run()


class Session:
    """The conversation so far, and everything that ``/`` commands may change."""

    def __init__(self, native: NativeClient, settings: Settings, editor: Editor) -> None:
        self.native = native
        self.settings = settings
        self.editor = editor
        self.system = ""
        self.messages: list[Message] = []
        """What was said here; the server itself puts the messages stored with the model before them."""

    def load(self) -> None:
        """Have the server load the model, so that whatever is wrong with it is said at once."""
        with Display(keep=False) as display:
            display.spinner()
            settings = self.settings
            self.native.load(settings.model, keep_alive=settings.keep_alive, think=settings.effective_think)

    def replay(self) -> None:
        """Show the conversation stored with the model."""
        for message in self.settings.card.get("messages") or ():
            match message["role"]:
                case "user":
                    print(f">>> {message.get('content', '')}")
                case "assistant":
                    answer = self._answer()
                    answer.write(message.get("content", ""))
                    answer.end("\n\n")

    def run(self) -> None:
        """Read and obey lines until the user leaves."""
        while True:
            try:
                line = self.editor.read()
                self._obey(line)
            except Interrupted:
                print("Use Ctrl + d or /bye to exit.")
            except KeyboardInterrupt:  # a command took too long
                print()
            except (EOFError, slash.Leave):
                return

    def set_system(self, text: str) -> None:
        """Change the system message from here on; one that nothing was said under is replaced."""
        self.system = text
        if self.messages and self.messages[-1]["role"] == "system":
            self.messages.pop()
        self.messages.append({"role": "system", "content": text})
        print("Set system message.")

    def forget(self) -> None:
        """Drop the conversation; a system message stays in force."""
        self.messages = [{"role": "system", "content": self.system}] if self.system else []

    def read_block(self, first: str) -> str:
        """A text that begins with quotes: ``first`` is what follows them; read on up to the closing ones."""
        lines = [first]
        while not lines[-1].endswith(QUOTES):
            lines.append(self.editor.read(continued=True))
        return "\n".join(lines).removesuffix(QUOTES)

    def _obey(self, line: str) -> None:
        if line.startswith(QUOTES):
            self._send(self.read_block(line.removeprefix(QUOTES)))
        elif line.startswith("/") and not self.editor.has_pasted_lines and not self._names_file(line):
            slash.obey(self, line)
        elif line:
            self._send(line)

    def _names_file(self, line: str) -> bool:
        word = (line.split() or [""])[0]
        return self.settings.takes_files and any(path.startswith(word) for path in references(line))

    def _send(self, text: str) -> None:
        """Say something and show the answer. What cannot be answered was not said."""
        if not text:
            return
        images: list[str] = []
        if self.settings.takes_files:
            text, images = take_files(text)
        message: Message = {"role": "user", "content": text}
        if images:
            message["images"] = images
        self.messages.append(message)
        try:
            self._receive()
        except ApiError as error:
            self.messages.pop()
            self.tell(error)

    def _receive(self) -> None:
        """Show the answer and remember it. Interrupted, it is forgotten."""
        request = self.settings.request(messages=self.messages)
        reply: Message = {"role": "assistant", "content": "", "thinking": ""}
        last: ChatChunk = {}
        with Display(keep=False) as display, closing(self.native.chat(request)) as chunks:
            display.spinner()
            answer = self._answer(display)
            try:
                for last in chunks:
                    piece: Said = last.get("message") or {}
                    content, thinking = piece.get("content", ""), piece.get("thinking", "")
                    reply["content"] += content
                    reply["thinking"] += thinking
                    answer.write(content, thinking, piece.get("tool_calls") or ())
            except KeyboardInterrupt:
                answer.end("\n")
                return
            answer.end("\n\n")
        if not reply["thinking"]:
            del reply["thinking"]
        self.messages.append(reply)
        if self.settings.verbose:
            print_metrics(last)

    def _answer(self, display: Display | None = None) -> Answer:
        return Answer(
            wrap=self.settings.word_wrap,
            show_thinking=not self.settings.hide_thinking,
            begun=display.close if display else lambda: None,
        )

    def tell(self, error: ApiError) -> None:
        """Say what the server has against a setting. Raises an error that ends the session."""
        text = str(error)
        if any(words in text for words in _GO_ON):
            print(f"error: {text}")
        elif "upstream error" in text:
            print("An error occurred while processing your message. Please try again.")
        else:
            raise error
