"""Help inside a session: what can be typed after ``>>>``."""

from __future__ import annotations

from collections.abc import Sequence

Lines = Sequence[tuple[str, str]]

_COMMANDS: Lines = (
    ("/set", "Change a setting of this session"),
    ("/show", "Show what is known about the model"),
    ("/load <model>", "Go on with another model"),
    ("/save <model>", "Store this session as a model"),
    ("/clear", "Forget the conversation so far"),
    ("/bye", "Leave"),
    ("/?, /help", "Show this help"),
    ("/? shortcuts", "Show the keys for editing"),
)

_SET: Lines = (
    ("/set parameter ...", "Set a parameter of the model"),
    ("/set system <string>", "Set the system message"),
    ("/set history", "Keep what is typed for later sessions"),
    ("/set nohistory", "Do not keep what is typed"),
    ("/set wordwrap", "Break long lines between words"),
    ("/set nowordwrap", "Leave long lines to the terminal"),
    ("/set format json", "Ask for answers in JSON"),
    ("/set noformat", "Ask for answers in any form"),
    ("/set verbose", "Show how long answers take"),
    ("/set quiet", "Do not show how long answers take"),
    ("/set think", "Let the model think before it answers"),
    ("/set nothink", "Let the model answer at once"),
)

_SHOW: Lines = (
    ("/show info", "Show a summary"),
    ("/show license", "Show the license"),
    ("/show modelfile", "Show the Modelfile"),
    ("/show parameters", "Show the parameters"),
    ("/show system", "Show the system message"),
    ("/show template", "Show the prompt template"),
)

_PARAMETERS: Lines = (
    ("/set parameter seed <int>", "Start of the random numbers"),
    ("/set parameter num_predict <int>", "Most tokens in an answer"),
    ("/set parameter top_k <int>", "Choose among so many tokens"),
    ("/set parameter top_p <float>", "Choose among tokens up to this total probability"),
    ("/set parameter min_p <float>", "Leave out tokens this much less probable than the best"),
    ("/set parameter num_ctx <int>", "Tokens the model can look back on"),
    ("/set parameter temperature <float>", "How freely to choose"),
    ("/set parameter repeat_penalty <float>", "How much to avoid repetition"),
    ("/set parameter repeat_last_n <int>", "How far back to look for repetition"),
    ("/set parameter num_gpu <int>", "Layers to put on the GPU"),
)

_SHORTCUTS: Lines = (
    ("Ctrl + a", "Go to the start of the line (Home)"),
    ("Ctrl + e", "Go to the end of the line (End)"),
    (" Alt + b", "Go back one word"),
    (" Alt + f", "Go on one word"),
    ("Ctrl + k", "Delete from here to the end of the line"),
    ("Ctrl + u", "Delete from the start of the line to here"),
    ("Ctrl + w", "Delete the word before the cursor"),
    ("", ""),
    ("Ctrl + l", "Clear the screen"),
    ("Ctrl + g", "Write the message in an editor"),
    ("Ctrl + c", "Stop the answer"),
    ("Ctrl + d", "Leave"),
)


def overview(*, takes_files: bool) -> str:
    """The commands of a session, and how to write more than one line."""
    text = _listing("Commands:", _COMMANDS) + 'A message of several lines begins and ends with """.\n'
    if takes_files:
        text += "A picture or a recording is named by its path, like ./photo.png.\n"
    return text + "\n"


def about_set() -> str:
    """The settings of a session."""
    return _listing("Settings:", _SET)


def about_show() -> str:
    """What can be shown."""
    return _listing("Things to show:", _SHOW)


def about_parameters() -> str:
    """The parameters most often set."""
    text = _listing("Parameters:", _PARAMETERS, gap=1).removesuffix("\n")
    return text + "  /set parameter stop <string> <string> ...   End the answer at one of these\n\n"


def about_shortcuts() -> str:
    """The keys of the line editor."""
    return _listing("Keys:", _SHORTCUTS, gap=12)


def _listing(heading: str, lines: Lines, *, gap: int = 3) -> str:
    width = max(len(item) for item, _ in lines) + gap
    body = "".join(f"  {item:<{width}}{text}".rstrip() + "\n" for item, text in lines)
    return f"{heading}\n{body}\n"
