"""Names a template refers to, by which Ollama tells what it can do.

Source: ``prompts`` §2.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchestrator.templates.nodes import (
    Block,
    Call,
    Chain,
    Field,
    If,
    Node,
    Operand,
    Output,
    Pipe,
    Range,
    Tree,
    Variable,
    With,
)


def names(tree: Tree, *, hidden: bool = False) -> frozenset[str]:
    """The components of all field chains and variables, in lower case.

    Ollama does not see what stands in parentheses that a field is taken of (``(index .Messages 0).Role``);
    ``hidden`` looks there too.
    """
    blocks = (tree.main, *tree.defined.values())
    return frozenset(name.lower() for block in blocks for node in block for name in _in_node(node, hidden))


def _in_node(node: Node, hidden: bool) -> Iterator[str]:
    match node:
        case Output(pipe) | Call(_, pipe):
            yield from _in_pipe(pipe, hidden)
        case If() | With() | Range():
            yield from _in_pipe(node.pipe, hidden)
            yield from _in_blocks((node.body, node.otherwise or ()), hidden)
        case _:
            pass


def _in_blocks(blocks: Iterable[Block], hidden: bool) -> Iterator[str]:
    for block in blocks:
        for node in block:
            yield from _in_node(node, hidden)


def _in_pipe(pipe: Pipe, hidden: bool) -> Iterator[str]:
    for command in pipe.commands:
        for operand in command.operands:
            yield from _in_operand(operand, hidden)


def _in_operand(operand: Operand, hidden: bool) -> Iterator[str]:
    match operand:
        case Field(path):
            yield from path
        case Variable(name, path):
            yield name
            yield from path
        case Chain(base, path) if hidden:
            yield from path
            yield from _in_operand(base, hidden)
        case Pipe():
            yield from _in_pipe(operand, hidden)
        case _:
            pass
