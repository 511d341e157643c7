"""Making two recordings comparable: what varies from run to run is replaced by a name for it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from orchestrator.cli.tables import table
from tests.cli_replay.screen import visible

_LASTING = ("Forever", "Stopping...", "59 minutes from now")
"""Times that a case is about."""
_SAMPLES = {"ID": "0123456789ab", "MODIFIED": "2 minutes ago", "UNTIL": "4 minutes from now"}

_RULES = (
    (r"\[-?\d[\d.e+-]*(?:,-?\d[\d.e+-]*){7,}\]", lambda found: f"<VECTOR {found[0].count(',') + 1}>"),
    (r"(?m)^((?:total|load|prompt eval|eval) (?:duration|rate): +)\S+", r"\1<N>"),
    (r"version is \S+", "version is <VERSION>"),
    (r"(?:using existing|creating new) layer (?=sha256:)", "<using existing|creating new> layer "),
    (r"(?m)^(pushing|pulling) [0-9a-f]{12}(:? .*▏)[ \d.]+ [KMG]?B", r"\1 <DIGEST-->\2  <SIZE>"),
    (r"(?m)^ssh-ed25519 \S+", "ssh-ed25519 <KEY>"),
    (r"[0-9a-f]{64}", "<SHA256>"),
)
_PARAMETERS = re.compile(
    r"(?m)(?:^(?:PARAMETER [a-z_]+ .*|(?: {2})?[a-z_]+ {3,}\S.*)\n?){2,}|(?<=^  Parameters\n)(?: {4}\S.*\n)+"
)
_PROGRAM = re.compile(r"(?i)\b(ollama|orch)\b(?!\.(?:com|ai))")


def mask(text: str, *, words: Mapping[str, str] | None = None, progress: bool = False) -> str:
    """A stream with everything replaced that may vary.

    ``words`` are those the model said, by what they are; with ``progress`` only what stays on a screen
    counts.
    """
    for name, said in (words or {}).items():
        if len(said) > 3:
            text = text.replace(said, f"<{name.upper()}>")
    if progress and "\x1b" in text:
        text = visible(text)
    text = _table_masked(text)
    for pattern, replacement in _RULES:
        text = re.sub(pattern, replacement, text)
    return _PROGRAM.sub("<PROGRAM>", _PARAMETERS.sub(_sorted, text))


def words_only(text: str) -> str:
    """A text without its line ends: for what one program wraps and another does not."""
    return " ".join(visible(text).split())


def any_reason(text: str) -> str:
    """A text with its error's reason left out: for reasons in the words of a library."""
    return re.sub(r"(?m)^Error: .*", "Error: <REASON>", text)


def masked_rows(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """A table of models with samples in the cells that vary; the first row holds the titles."""
    titles = rows[0]
    return [list(titles), *([_sample(titles, *cell) for cell in enumerate(row)] for row in rows[1:])]


def _sample(titles: Sequence[str], column: int, cell: str) -> str:
    title = titles[column]
    if title == "SIZE" and "PROCESSOR" in titles:
        return "123 MB"
    if title not in _SAMPLES or cell in _LASTING:
        return cell
    return "20 seconds from now" if re.fullmatch(r"\d+ seconds from now", cell) else _SAMPLES[title]


def _table_masked(text: str) -> str:
    """A table drawn by the rules, with samples; any other text as it is."""
    head, *lines = text.split("\n")
    if not re.match(r"NAME +ID +SIZE", head) or not lines or lines.pop():
        return text
    starts = [found.start() for found in re.finditer(r"\S+", head)]
    bounds = list(zip(starts, [*starts[1:], None], strict=True))
    rows = [[line[start:end].strip() for start, end in bounds] for line in (head, *lines)]
    if table(rows[0], rows[1:]) != text:
        return text
    masked = masked_rows(rows)
    return table(masked[0], masked[1:])


def _sorted(block: re.Match[str]) -> str:
    """Parameter lines by name: some servers shuffle them."""
    lines = [line.removesuffix("\n") + "\n" for line in block[0].splitlines()]
    return "".join(sorted(lines))[: len(block[0])]
