"""Syntax trees made into functions, and run under a budget.

A tree is compiled once: every node becomes a closure of (run, dot). A run ends with an error when it takes
more steps, writes more text or nests deeper than any prompt needs, so no template can hold up the daemon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final

from orchestrator.templates.errors import TemplateExecutionError
from orchestrator.templates.functions import FUNCTIONS, TemplateFunction
from orchestrator.templates.literals import MAX_INTEGER
from orchestrator.templates.nodes import (
    Block,
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
from orchestrator.templates.values import ABSENT, ExecutionFault, Record, Value, field, pairs, text

MAX_STEPS: Final = 1_000_000
"""Blocks entered and nodes run; long texts that functions read or make count as well."""
MAX_OUTPUT: Final = 16 * 1024 * 1024
"""Characters written."""
MAX_CALLS: Final = 100
"""How deep templates may call each other."""


class Signal(Enum):
    """How a block ended when it did not reach its end."""

    BREAK = "break"
    CONTINUE = "continue"


class Run:
    """One execution: what is written, the variables in sight, and what is left of the budget."""

    __slots__ = ("blocks", "depth", "names", "out", "room", "steps", "undo")

    def __init__(self, blocks: Mapping[str, Step], data: Value) -> None:
        self.blocks = blocks
        self.out: list[str] = []
        self.room = MAX_OUTPUT
        self.steps = MAX_STEPS
        self.depth = 0
        self.names: dict[str, Value] = {"$": data}
        self.undo: list[tuple[str, Value]] = []

    def write(self, written: str) -> None:
        self.room -= len(written)
        if self.room < 0:
            raise ExecutionFault("the output gets too long")
        self.out.append(written)

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise ExecutionFault("the template takes too many steps")

    def declare(self, name: str, value: Value) -> None:
        """A new variable, until the block ends."""
        self.undo.append((name, self.names.get(name, _UNKNOWN)))
        self.names[name] = value

    def assign(self, name: str, value: Value) -> None:
        """Another value for the variable in sight."""
        if name not in self.names:
            raise ExecutionFault(f"undefined variable: {name}")
        self.names[name] = value

    def leave(self, mark: int) -> None:
        """Forget the variables declared since ``undo`` was that long."""
        while len(self.undo) > mark:
            name, before = self.undo.pop()
            if before is _UNKNOWN:
                del self.names[name]
            else:
                self.names[name] = before


_UNKNOWN: Final = object()

Step = Callable[[Run, Value], Signal | None]
Reader = Callable[[Run, Value], Value]


class Program:
    """A compiled tree."""

    def __init__(self, tree: Tree) -> None:
        self._blocks = {name: _block(block) for name, block in tree.defined.items()}
        self._main = _block(tree.main)

    def execute(self, data: Value) -> str:
        """What the template writes for ``data``. Raises ``TemplateExecutionError``."""
        run = Run(self._blocks, data)
        try:
            self._main(run, data)
        except ExecutionFault as fault:
            raise TemplateExecutionError(f"template: {fault.where}executing: {fault}") from fault
        except RecursionError as error:
            raise TemplateExecutionError("template: executing: nested too deeply") from error
        return "".join(run.out)


# -- nodes


def _block(nodes: Block) -> Step:
    steps = tuple(map(_node, nodes))
    cost = len(steps) + 2  # entering one is work, even if it is empty

    def run_block(run: Run, dot: Value) -> Signal | None:
        run.steps -= cost
        if run.steps < 0:
            run.spend(0)
        for step in steps:
            if (signal := step(run, dot)) is not None:
                return signal
        return None

    return run_block


def _node(node: Node) -> Step:
    match node:
        case Text():
            return _text(node.text)
        case Output():
            return _output(node.pipe)
        case If() | With():
            return _branch(node)
        case Range():
            return _range(node)
        case Call():
            return _call(node)
        case Break():
            return lambda run, dot: Signal.BREAK
        case Continue():
            return lambda run, dot: Signal.CONTINUE


def _text(written: str) -> Step:
    return lambda run, dot: run.write(written)


def _output(pipe: Pipe) -> Step:
    read = _pipe(pipe)
    if pipe.variables:

        def set_variable(run: Run, dot: Value) -> None:
            read(run, dot)

        return set_variable

    def write(run: Run, dot: Value) -> None:
        value = read(run, dot)
        run.write(value if value.__class__ is str else text(value))

    return write


def _branch(node: If | With) -> Step:
    condition = _pipe(node.pipe)
    body = _block(node.body)
    otherwise = _block(node.otherwise) if node.otherwise is not None else None
    is_with = isinstance(node, With)

    def choose(run: Run, dot: Value) -> Signal | None:
        mark = len(run.undo)
        value = condition(run, dot)
        signal = None
        if value:
            signal = body(run, value if is_with else dot)
        elif otherwise is not None:
            signal = otherwise(run, dot)
        run.leave(mark)
        return signal

    return choose


def _range(node: Range) -> Step:
    subject = _pipe(node.pipe)
    body = _block(node.body)
    otherwise = _block(node.otherwise) if node.otherwise is not None else None
    bind = _binder(node.pipe)
    with_index = len(node.pipe.variables) > 1

    def loop(run: Run, dot: Value) -> Signal | None:
        outer = len(run.undo)
        value = subject(run, dot)
        if with_index and isinstance(value, int):
            raise ExecutionFault(f"can't use {value} to iterate over more than one variable")
        if isinstance(value, dict):
            run.spend(len(value))
        mark = len(run.undo)
        ran = False
        for index, element in pairs(value):
            ran = True
            if bind is not None:
                bind(run, index, element)
            signal = body(run, element)
            run.leave(mark)
            if signal is Signal.BREAK:
                break
        signal = otherwise(run, dot) if not ran and otherwise is not None else None
        run.leave(outer)
        return None if signal is Signal.BREAK else signal  # in "else", a break still ends this loop

    return loop


def _binder(pipe: Pipe) -> Callable[[Run, Value, Value], None] | None:
    """What gives the variables of a ``range`` their values; with one variable it is the element."""
    if not pipe.variables:
        return None
    *index_names, element_name = pipe.variables

    def bind(run: Run, index: Value, element: Value) -> None:
        for name in index_names:
            run.names[name] = index
        run.names[element_name] = element

    return bind


def _call(node: Call) -> Step:
    name = node.name
    pipe = _pipe(node.pipe)

    def call(run: Run, dot: Value) -> None:
        block = run.blocks.get(name)
        if block is None:
            raise ExecutionFault(f'template "{name}" not defined')
        if run.depth == MAX_CALLS:
            raise ExecutionFault(f"exceeded maximum template depth ({MAX_CALLS})")
        value = pipe(run, dot)
        names, undo = run.names, run.undo
        run.names, run.undo = {"$": value}, []
        run.depth += 1
        block(run, value)
        run.depth -= 1
        run.names, run.undo = names, undo

    return call


# -- values


def _pipe(pipe: Pipe) -> Reader:
    """The value of a pipeline, after its variables are set; nil comes out as ``ABSENT``."""
    stage: Reader | None = None
    for command in pipe.commands:
        stage = _settled(_command(command, stage), pipe.line)
    assert stage is not None
    if not pipe.variables:
        return stage
    read, variables, assigns = stage, pipe.variables, pipe.assigns

    def set_variables(run: Run, dot: Value) -> Value:
        value = read(run, dot)
        for name in variables:
            if assigns:
                run.assign(name, value)
            else:
                run.declare(name, value)
        return value

    return set_variables


def _settled(read: Reader, line: int) -> Reader:
    def settle(run: Run, dot: Value) -> Value:
        try:
            value = read(run, dot)
        except ExecutionFault as fault:
            fault.locate(line)
            raise
        return ABSENT if value is None else value

    return settle


def _command(command: Command, last: Reader | None) -> Reader:
    """One stage of a pipeline; ``last`` is the stage before, whose value is the final argument."""
    first, *arguments = command.operands
    if isinstance(first, Function):
        return _function_call(first.name, tuple(map(_operand, arguments)), last)
    if isinstance(first, Nil):
        return _fault("nil is not a command")
    if not arguments and last is None:
        return _operand(first)
    match first:
        case Field(path) | Variable(_, [*_, _] as path) | Chain(_, path):
            return _fault(f"{path[-1]} is not a method but has arguments", after=_operand(first))
        case _:
            return _fault("can't give argument to non-function")


def _fault(message: str, after: Reader | None = None) -> Reader:
    """Reads what comes before the mistake, then fails."""

    def fail(run: Run, dot: Value) -> Value:
        if after is not None:
            after(run, dot)
        raise ExecutionFault(message)

    return fail


def _operand(operand: Operand) -> Reader:
    match operand:
        case Dot():
            return lambda run, dot: dot
        case Nil():
            return lambda run, dot: None
        case Literal(int() as value) if value > MAX_INTEGER:
            return _fault(f"{value} overflows int")
        case Literal(value):
            return lambda run, dot: value
        case Field(path):
            return _fields(_operand(Dot()), path)
        case Variable(name, path):
            return _fields(_variable(name), path)
        case Chain(base, path):
            return _fields(_operand(base), path)
        case Function(name):
            return _function_call(name, (), None)
        case Pipe():
            return _pipe(operand)


def _variable(name: str) -> Reader:
    def read(run: Run, dot: Value) -> Value:
        try:
            return run.names[name]
        except KeyError:
            raise ExecutionFault(f"undefined variable: {name}") from None

    return read


def _fields(base: Reader, path: tuple[str, ...]) -> Reader:
    for name in path:
        base = _field(base, name)
    return base


def _field(base: Reader, name: str) -> Reader:
    def read(run: Run, dot: Value) -> Value:
        value = base(run, dot)
        if value.__class__ is Record:
            try:
                return value.fields[name]
            except KeyError:
                pass
        return field(value, name)

    return read


def _function_call(name: str, operands: tuple[Reader, ...], last: Reader | None) -> Reader:
    function = FUNCTIONS[name]
    count = len(operands) + (last is not None)
    if count < function.least or (function.most is not None and count > function.most):
        wanted = f"at least {function.least}" if function.most is None else str(function.most)
        return _fault(f"wrong number of args for {name}: want {wanted} got {count}")
    if name in ("and", "or"):
        return _shortcut(operands, last, stop=name == "or")
    return _plain_call(function, operands, last)


def _plain_call(function: TemplateFunction, operands: tuple[Reader, ...], last: Reader | None) -> Reader:
    call = function.call

    def apply(run: Run, dot: Value) -> Value:
        final = last(run, dot) if last is not None else None
        arguments = [operand(run, dot) for operand in operands]
        if last is not None:
            arguments.append(final)
        for argument in arguments:
            if argument.__class__ is str and len(argument) > 1024:
                run.spend(len(argument) >> 8)
        value = call(*arguments)
        if value.__class__ is str or value.__class__ is list:
            run.spend(len(value) >> 3)
        return value

    return apply


def _shortcut(operands: tuple[Reader, ...], last: Reader | None, *, stop: bool) -> Reader:
    """``and`` and ``or``: the first operand that settles it, or the last one."""

    def apply(run: Run, dot: Value) -> Value:
        final = last(run, dot) if last is not None else None
        value: Value = None
        for operand in operands:
            value = operand(run, dot)
            if bool(value) is stop:
                return value
        return value if last is None else final

    return apply
