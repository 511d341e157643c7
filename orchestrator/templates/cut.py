"""A template of the old form, cut where the answer goes.

Such a template shows one exchange, ``.Response`` included. For the prompt everything after the first place
that writes ``.Response`` must go, so that the model continues there.
Source: ``prompts`` §2.8.
"""

from __future__ import annotations

from dataclasses import replace

from orchestrator.templates.nodes import (
    Block,
    Command,
    Field,
    If,
    Node,
    Operand,
    Output,
    Pipe,
    Range,
    Tree,
    With,
)


def cut_after_response(tree: Tree) -> Tree:
    """``tree`` without what follows its first output of ``.Response``; what it defines stays."""
    main, _ = _cut_block(tree.main)
    return Tree(main, tree.defined)


def _cut_block(block: Block) -> tuple[Block, bool]:
    """The block up to the cut, and whether the cut was in it."""
    kept: list[Node] = []
    for node in block:
        part, found = _cut_node(node)
        if part is not None:
            kept.append(part)
        if found:
            return tuple(kept), True
    return tuple(kept), False


def _cut_node(node: Node) -> tuple[Node | None, bool]:
    match node:
        case Output(pipe):
            cut, found = _cut_pipe(pipe)
            return (Output(cut) if cut is not None else None), found
        case If() | With() | Range():
            body, found = _cut_block(node.body)
            if found:
                return replace(node, body=body, otherwise=None), True
            otherwise, found = _cut_block(node.otherwise or ())
            return (replace(node, otherwise=otherwise) if found else node), found
        case _:
            return node, False


def _cut_pipe(pipe: Pipe) -> tuple[Pipe | None, bool]:
    """The pipeline without the operands after ``.Response``; none if a whole stage goes with them."""
    found = False
    commands: list[Command] = []
    for command in pipe.commands:
        operands: list[Operand] = []
        for operand in command.operands:
            if found:
                break
            kept, found = _cut_operand(operand)
            if kept is not None:
                operands.append(kept)
        if not operands:
            return None, found
        commands.append(Command(tuple(operands)))
    return replace(pipe, commands=tuple(commands)), found


def _cut_operand(operand: Operand) -> tuple[Operand | None, bool]:
    match operand:
        case Field(path):
            return operand, "Response" in path
        case Pipe():
            return _cut_pipe(operand)
        case _:
            return operand, False
