"""Keys of an object other than those that have properties of their own."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.grammars.characters import PLAIN, Characters
from orchestrator.grammars.gbnf import RuleBook, literal, one_of, optional


def other_keys(book: RuleBook, names: Iterable[str]) -> str:
    """Any key that is none of ``names``, as an expression with its quotation marks.

    Such keys are written without escapes, so that none of ``names`` comes back in disguise.
    """
    any_character = book.add("plain", _plain(PLAIN))
    root = _Node()
    for name in names:
        if all(character in PLAIN for character in name):
            root.add(name)
    for node in root.deepest_first():
        taken = Characters.of("".join(node.next))
        options = [f"{_plain(PLAIN & ~taken)} {any_character}*"]
        options += [f"{literal(character)} {after.symbol}" for character, after in node.next.items()]
        body = one_of(options) if node.ends_name else optional(one_of(options))
        node.symbol = book.add("other-key", body)
    return rf'"\"" {root.symbol} "\""'


class _Node:
    """Where the reading of a key stands: some names go on from here, perhaps one ends."""

    def __init__(self) -> None:
        self.next: dict[str, _Node] = {}
        self.ends_name = False
        self.symbol = ""

    def add(self, name: str) -> None:
        node = self
        for character in name:
            node = node.next.setdefault(character, _Node())
        node.ends_name = True

    def deepest_first(self) -> list[_Node]:
        """This node and all below it, each after those below it."""
        nodes = [self]
        for node in nodes:
            nodes += node.next.values()
        return nodes[::-1]


def _plain(characters: Characters) -> str:
    expression = characters.in_json()
    assert expression is not None  # names cannot take every character
    return expression
