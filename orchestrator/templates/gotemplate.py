"""Templates in the language of Go's ``text/template``, in which Ollama's models describe their prompts.

The interpreter is our own. The package ``gotpl`` parses most templates alike, but works on Python's values: a
struct's missing field, an absent key and nil print and compare otherwise there. A template of the old form
must be cut before it runs, and none may hold up the daemon.
Source: ``prompts`` §2.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache

from orchestrator.templates.cut import cut_after_response
from orchestrator.templates.errors import TemplateSyntaxError
from orchestrator.templates.evaluate import Program
from orchestrator.templates.nodes import Command, Field, Output, Pipe, Tree
from orchestrator.templates.parser import parse
from orchestrator.templates.values import Value
from orchestrator.templates.variables import names

_APPENDED = Output(Pipe((Command((Field(("Response",), 0),)),), 0))


class GoTemplate:
    """A template ready to run. It never changes, so one may be used from anywhere."""

    def __init__(self, text: str, tree: Tree) -> None:
        self.text = text
        self.tree = tree
        self._program = Program(tree)

    @classmethod
    def parse(cls, text: str) -> GoTemplate:
        """The template of that text; the same object for the same text, mostly.

        Bytes that are no UTF-8 are lone surrogates in ``text`` (``surrogateescape``) and come out as they
        were. Raises ``TemplateSyntaxError``.
        """
        return _parse(text)

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names the template refers to, in lower case. Source: ``prompts`` §2.9."""
        return names(self.tree)

    @cached_property
    def wants_messages(self) -> bool:
        """Whether it walks over the messages itself, or is written once per exchange (the old form)."""
        return "messages" in names(self.tree, hidden=True)

    def execute(self, data: Mapping[str, Value]) -> str:
        """What it writes for ``data``. Raises ``TemplateExecutionError``."""
        return self._program.execute(data)

    @cached_property
    def cut(self) -> GoTemplate:
        """This template up to where the answer goes."""
        return GoTemplate(self.text, cut_after_response(self.tree))


@lru_cache(maxsize=128)
def _parse(text: str) -> GoTemplate:
    try:
        tree = parse(text)
    except RecursionError as error:
        raise TemplateSyntaxError("nested too deeply") from error
    if not names(tree) & {"messages", "response"}:
        tree = Tree((*tree.main, _APPENDED), tree.defined)
    return GoTemplate(text, tree)
