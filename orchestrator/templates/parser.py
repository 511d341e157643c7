"""Tokens to a syntax tree, by the grammar of Go's ``text/template``.

What Go leaves to execution (assigning to an unknown variable, a missing template) passes here too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from orchestrator.templates import literals
from orchestrator.templates.errors import TemplateSyntaxError
from orchestrator.templates.functions import FUNCTIONS
from orchestrator.templates.lexer import Kind, Token, tokens
from orchestrator.templates.nodes import (
    Block,
    Branch,
    Break,
    Call,
    Chain,
    Command,
    Continue,
    Dot,
    Field,
    Function,
    If,
    Literal,
    Nil,
    Node,
    Operand,
    Output,
    Pipe,
    Range,
    Text,
    Tree,
    Variable,
    With,
)

T = TypeVar("T")

MAX_DEPTH = 100
"""How deep blocks and parentheses may nest."""

_OPERANDS = frozenset(
    (
        Kind.BOOL, Kind.CHARACTER, Kind.DOT, Kind.FIELD, Kind.IDENTIFIER, Kind.NUMBER, Kind.NIL,
        Kind.RAW_STRING, Kind.STRING, Kind.VARIABLE, Kind.OPEN,
    )
)  # fmt: skip
_NOT_A_STAGE = Literal | Dot | Nil
_BRANCHES: dict[str, Callable[[Pipe, Block, Block | None], Branch]] = {"if": If, "with": With, "range": Range}


def parse(source: str) -> Tree:
    """The tree of a template. Raises ``TemplateSyntaxError``."""
    return _Parser(tokens(source)).tree()


@dataclass(frozen=True, slots=True)
class _Mark:
    """What ended a block: ``end`` or ``else``."""

    word: str


@dataclass(slots=True)
class _Scope:
    """What a template being defined has seen so far."""

    variables: list[str] = field(default_factory=lambda: ["$"])
    loops: int = 0


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.position = 0
        self.depth = 0
        self.scope = _Scope()
        self.defined: dict[str, Block] = {}

    # -- tokens

    def peek(self) -> Token:
        return self.tokens[self.position]

    def next(self) -> Token:
        token = self.tokens[self.position]
        if token.kind is not Kind.END:
            self.position += 1
        return token

    def peek_word(self) -> Token:
        """The next token that is no space; spaces before it are passed."""
        while self.peek().kind is Kind.SPACE:
            self.position += 1
        return self.peek()

    def next_word(self) -> Token:
        self.peek_word()
        return self.next()

    def expect(self, kind: Kind, context: str) -> Token:
        token = self.next_word()
        if token.kind is not kind:
            raise self.unexpected(token, context)
        return token

    def error(self, message: str) -> TemplateSyntaxError:
        return TemplateSyntaxError(message, line=self.peek().line)

    def unexpected(self, token: Token, context: str) -> TemplateSyntaxError:
        if token.kind is Kind.END:
            return self.error("unexpected EOF")
        shown = f"<{token.text}>" if token.kind is Kind.KEYWORD else f'"{token.text}"'
        return TemplateSyntaxError(f"unexpected {shown} in {context}", line=token.line)

    # -- blocks

    def tree(self) -> Tree:
        main: list[Node] = []
        while self.peek().kind is not Kind.END:
            if self.at_define():
                self.define()
                continue
            node = self.node()
            if isinstance(node, _Mark):
                raise self.error(f"unexpected {{{{{node.word}}}}}")
            main.append(node)
        block = tuple(main)
        self.add("", block)
        return Tree(self.defined.get("", block), self.defined)

    def at_define(self) -> bool:
        if self.peek().kind is not Kind.LEFT:
            return False
        start = self.position
        self.next()
        token = self.next_word()
        if token.kind is Kind.KEYWORD and token.text == "define":
            return True
        self.position = start
        return False

    def define(self) -> None:
        name = self.template_name("define clause")
        self.expect(Kind.RIGHT, "define clause")
        self.separate(name, "define clause")

    def separate(self, name: str, context: str) -> None:
        """Read the body of another template, which sees none of our variables."""
        outer, self.scope = self.scope, _Scope()
        body, mark = self.block()
        if mark.word != "end":
            raise self.error(f"unexpected {{{{{mark.word}}}}} in {context}")
        self.scope = outer
        self.add(name, body)

    def add(self, name: str, body: Block) -> None:
        before = self.defined.get(name)
        if before is None or _is_blank(before):
            self.defined[name] = body
        elif not _is_blank(body):
            raise self.error(f'template: multiple definition of template "{name}"')

    def block(self) -> tuple[Block, _Mark]:
        """Nodes up to the ``end`` or ``else`` that belongs to them."""
        self.deeper()
        nodes: list[Node] = []
        while self.peek_word().kind is not Kind.END:
            node = self.node()
            if isinstance(node, _Mark):
                self.depth -= 1
                return tuple(nodes), node
            nodes.append(node)
        raise self.error("unexpected EOF")

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error("nested too deeply")

    def node(self) -> Node | _Mark:
        token = self.next_word()
        if token.kind is Kind.TEXT:
            return Text(token.text)
        if token.kind is not Kind.LEFT:
            raise self.unexpected(token, "input")
        return self.action()

    def action(self) -> Node | _Mark:
        token = self.peek_word()
        if token.kind is not Kind.KEYWORD or token.text == "define":
            return Output(self.pipe("command", Kind.RIGHT))
        self.next()
        match token.text:
            case "end" | "else":
                return self.mark(token.text)
            case "break" | "continue":
                return self.jump(token.text)
            case "block" | "template":
                return self.call(token.text)
            case word:
                return self.branch(word)

    def mark(self, word: str) -> _Mark:
        follows = self.peek_word()
        if word == "end" or not (follows.kind is Kind.KEYWORD and follows.text in ("if", "with")):
            self.expect(Kind.RIGHT, word)
        return _Mark(word)

    def jump(self, word: str) -> Node:
        self.expect(Kind.RIGHT, f"{{{{{word}}}}}")
        if not self.scope.loops:
            raise self.error(f"{{{{{word}}}}} outside {{{{range}}}}")
        return Break() if word == "break" else Continue()

    def call(self, word: str) -> Call:
        name = self.template_name(f"{word} clause")
        if word == "template" and self.peek_word().kind is Kind.RIGHT:
            raise TemplateSyntaxError("undefined template specified")
        pipe = self.pipe(f"{word} clause", Kind.RIGHT)
        if word == "block":
            self.separate(name, "block clause")
        return Call(name, pipe)

    def template_name(self, context: str) -> str:
        token = self.next_word()
        if token.kind not in (Kind.STRING, Kind.RAW_STRING):
            raise self.unexpected(token, context)
        return self.constant(literals.string, token)

    def branch(self, word: str) -> Branch:
        known = len(self.scope.variables)
        pipe = self.pipe(word, Kind.RIGHT)
        is_loop = word == "range"
        self.scope.loops += is_loop
        body, mark = self.block()
        self.scope.loops -= is_loop
        otherwise = self.otherwise(word) if mark.word == "else" else None
        del self.scope.variables[known:]
        return _BRANCHES[word](pipe, body, otherwise)

    def otherwise(self, word: str) -> Block:
        follows = self.peek_word()
        if word in ("if", "with") and follows.kind is Kind.KEYWORD and follows.text == word:
            self.next()
            self.deeper()
            chained = self.branch(word)
            self.depth -= 1
            return (chained,)
        if follows.kind is Kind.KEYWORD:  # "else with" in an "if": Go reads it as an action of its own
            raise self.unexpected(follows, "input")
        body, mark = self.block()
        if mark.word != "end":
            raise self.error("expected end; found {{else}}")
        return body

    # -- pipelines

    def pipe(self, context: str, end: Kind) -> Pipe:
        self.deeper()
        line = self.peek_word().line
        variables, assigns = self.declarations(context)
        commands: list[Command] = []
        while (token := self.peek_word()).kind is not end:
            if token.kind not in _OPERANDS:
                raise self.unexpected(token, context)
            commands.append(self.command())
        self.next()
        self.depth -= 1
        if not commands:
            raise self.error(f"missing value for {context}")
        for stage, command in enumerate(commands[1:], start=2):
            if isinstance(command.operands[0], _NOT_A_STAGE):
                raise self.error(f"non executable command in pipeline stage {stage}")
        return Pipe(tuple(commands), line, variables, assigns)

    def declarations(self, context: str) -> tuple[tuple[str, ...], bool]:
        """``$x :=``, ``$x =`` or, in a range, ``$i, $x :=``; nothing if a value follows."""
        names: list[str] = []
        while self.peek_word().kind is Kind.VARIABLE:
            start = self.position
            name = self.next().text
            follows = self.peek_word()
            if follows.kind in (Kind.ASSIGN, Kind.DECLARE):
                self.next()
                names.append(name)
                self.scope.variables.append(name)
                return tuple(names), follows.kind is Kind.ASSIGN
            if not (follows.kind is Kind.OTHER and follows.text == ","):
                self.position = start
                break
            self.next()
            names.append(name)
            self.scope.variables.append(name)
            if context != "range" or len(names) > 1:
                raise self.error(f"too many declarations in {context}")
            if self.peek_word().kind not in (Kind.VARIABLE, Kind.RIGHT, Kind.CLOSE):
                raise self.error("range can only initialize variables")
        return tuple(names), False

    def command(self) -> Command:
        operands: list[Operand] = []
        while True:
            if (operand := self.operand()) is not None:
                operands.append(operand)
            token = self.peek()
            if token.kind is Kind.SPACE:
                self.next()
                continue
            if token.kind is Kind.PIPE:
                self.next()
            elif token.kind not in (Kind.RIGHT, Kind.CLOSE):
                raise self.unexpected(token, "operand")
            break
        if not operands:
            raise self.error("empty command")
        return Command(tuple(operands))

    def operand(self) -> Operand | None:
        term = self.term()
        if term is None or self.peek().kind is not Kind.FIELD:
            return term
        line = self.peek().line
        path: list[str] = []
        while self.peek().kind is Kind.FIELD:
            path.append(self.next().text[1:])
        match term:
            case Field(before, first):
                return Field(before + tuple(path), first)
            case Variable(name, before, first):
                return Variable(name, before + tuple(path), first)
            case Literal() | Nil() | Dot():
                raise self.error("unexpected . after term")
            case _:
                return Chain(term, tuple(path), line)

    def term(self) -> Operand | None:
        token = self.peek_word()
        if token.kind not in _OPERANDS:
            return None
        self.next()
        match token.kind:
            case Kind.IDENTIFIER:
                if token.text not in FUNCTIONS:
                    raise self.error(f'function "{token.text}" not defined')
                return Function(token.text, token.line)
            case Kind.DOT:
                return Dot()
            case Kind.NIL:
                return Nil()
            case Kind.VARIABLE:
                if token.text not in self.scope.variables:
                    raise self.error(f'undefined variable "{token.text}"')
                return Variable(token.text, (), token.line)
            case Kind.FIELD:
                return Field((token.text[1:],), token.line)
            case Kind.BOOL:
                return Literal(token.text == "true")
            case Kind.NUMBER:
                return Literal(self.constant(literals.number, token))
            case Kind.CHARACTER:
                return Literal(self.constant(literals.character, token))
            case Kind.OPEN:
                return self.pipe("parenthesized pipeline", Kind.CLOSE)
            case _:
                return Literal(self.constant(literals.string, token))

    def constant(self, read: Callable[[str], T], token: Token) -> T:
        try:
            return read(token.text)
        except literals.BadConstant as error:
            raise TemplateSyntaxError(str(error), line=token.line) from error


def _is_blank(block: Block) -> bool:
    return all(isinstance(node, Text) and not node.text.strip() for node in block)
