"""A small reader of GBNF: which texts a grammar accepts, and texts that it accepts, drawn at random.

It knows what llama.cpp knows and is as strict: names must be defined, no rule may begin with itself.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

MOST_REPETITIONS = 2000

_TOKENS = re.compile(
    r"""\s*(?:
      (?P<literal>"(?:[^"\\]|\\.)*")
    | (?P<class>\[(?:[^\]\\]|\\.)*\])
    | (?P<counts>\{\d+(?:,\d*)?\})
    | (?P<name>[a-zA-Z0-9-]+)
    | (?P<sign>[()|*+?])
    )[ \t]*""",
    re.VERBOSE,
)
_CHARACTER = re.compile(r'\\(?:x(\w{2})|u(\w{4})|U(\w{8})|([nrt"\\\[\]]))|(.)', re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}


class MalformedGrammar(Exception):
    """Text that llama.cpp would not take."""


@dataclass(frozen=True, eq=False)
class Literal:
    text: str


@dataclass(frozen=True, eq=False)
class OneCharacter:
    spans: tuple[tuple[str, str], ...]
    negated: bool

    def __contains__(self, character: str) -> bool:
        return any(low <= character <= high for low, high in self.spans) != self.negated


@dataclass(frozen=True, eq=False)
class Name:
    name: str


@dataclass(frozen=True, eq=False)
class Sequence:
    parts: tuple[Part, ...]


@dataclass(frozen=True, eq=False)
class Choice:
    options: tuple[Part, ...]


@dataclass(frozen=True, eq=False)
class Repeated:
    part: Part
    least: int
    most: int | None


Part = Literal | OneCharacter | Name | Sequence | Choice | Repeated


class Gbnf:
    """A grammar that has been read. Raises ``MalformedGrammar``."""

    def __init__(self, text: str) -> None:
        lines = [line.split(" ::= ", 1) for line in text.split("\n") if line]
        self.rules = {name: _Reader(body).whole() for name, body in lines}
        if len(self.rules) < len(lines):
            raise MalformedGrammar("a name is defined twice")
        for part in list(self.rules.values()):
            self._check_names(part)
        beginnings = {name: set(self._beginnings(part)) for name, part in self.rules.items()}
        try:
            TopologicalSorter(beginnings).prepare()
        except CycleError as error:
            raise MalformedGrammar(f"a rule begins with itself: {error.args[1]}") from error

    def accepts(self, text: str) -> bool:
        """Whether ``text`` is a whole text of the grammar."""
        return len(text) in _Match(self.rules, text).ends(self.rules["root"], 0)

    def draw(self, source: random.Random, *, depth: int = 12) -> str:
        """A text that the grammar accepts; beyond ``depth`` rules within each other the shortest."""
        return "".join(self._drawn(self.rules["root"], source, depth))

    def _drawn(self, part: Part, source: random.Random, depth: int) -> Iterator[str]:
        match part:
            case Literal(text):
                yield text
            case OneCharacter():
                yield _any_of(part, source)
            case Name(name):
                yield from self._drawn(self.rules[name], source, depth - 1)
            case Sequence(parts):
                for each in parts:
                    yield from self._drawn(each, source, depth)
            case Choice(options):
                if depth <= 0:
                    options = (min(options, key=self._height),)
                yield from self._drawn(source.choice(options), source, depth)
            case Repeated(inner, least, most):
                more = source.choice([0, 0, 1, 2, 5]) if depth > 0 else 0
                count = least + more if most is None else min(least + more, most)
                if depth > 0 and most is not None and source.random() < 0.1:
                    count = most
                for _ in range(count):
                    yield from self._drawn(inner, source, depth)

    @cached_property
    def _heights(self) -> dict[str, float]:
        """How many rules the shortest text of each rule needs within each other."""
        heights = dict.fromkeys(self.rules, float("inf"))
        for _ in self.rules:
            before = dict(heights)
            for name, part in self.rules.items():
                heights[name] = self._height(part, before)
            if heights == before:
                break
        return heights

    def _height(self, part: Part, heights: dict[str, float] | None = None) -> float:
        known = self._heights if heights is None else heights
        match part:
            case Name(name):
                return 1 + known[name]
            case Sequence(parts):
                return max((self._height(each, known) for each in parts), default=0)
            case Choice(options):
                return min(self._height(each, known) for each in options)
            case Repeated(inner, least, _):
                return self._height(inner, known) if least else 0
            case _:
                return 0

    def _check_names(self, part: Part) -> None:
        match part:
            case Name(name) if name not in self.rules:
                raise MalformedGrammar(f"{name} is not defined")
            case Sequence(parts) | Choice(parts):
                for each in parts:
                    self._check_names(each)
            case Repeated(inner):
                self._check_names(inner)
            case _:
                pass

    def _beginnings(self, part: Part) -> Iterator[str]:
        """Rules with which a part can begin."""
        match part:
            case Name(name):
                yield name
            case Choice(options):
                for each in options:
                    yield from self._beginnings(each)
            case Repeated(inner, _, most):
                if most != 1 and self._may_be_empty(inner):
                    raise MalformedGrammar("nothing is repeated")
                yield from self._beginnings(inner)
            case Sequence(parts):
                for each in parts:
                    yield from self._beginnings(each)
                    if not self._may_be_empty(each):
                        return

    def _may_be_empty(self, part: Part) -> bool:
        return self._empties[part] if isinstance(part, Repeated | Choice | Sequence) else self._empty(part)

    @cached_property
    def _empties(self) -> _Empties:
        return _Empties(self)

    def _empty(self, part: Part) -> bool:
        match part:
            case Literal(text):
                return not text
            case Name(name):
                return self._empties.rule(name)
            case _:
                return False


class _Empties(dict[Part, bool]):
    """Whether parts fit the empty text, looked for once."""

    def __init__(self, grammar: Gbnf) -> None:
        super().__init__()
        self._grammar = grammar
        self._rules: dict[str, bool] = {}

    def rule(self, name: str) -> bool:
        if name not in self._rules:
            self._rules[name] = False  # a rule that needs itself is not empty by that
            self._rules[name] = self._grammar._may_be_empty(self._grammar.rules[name])
        return self._rules[name]

    def __missing__(self, part: Part) -> bool:
        match part:
            case Sequence(parts):
                found = all(map(self._grammar._may_be_empty, parts))
            case Choice(options):
                found = any(map(self._grammar._may_be_empty, options))
            case Repeated(inner, least, _):
                found = not least or self._grammar._may_be_empty(inner)
            case _:
                found = False
        self[part] = found
        return found


class _Match:
    """Where parts of a grammar can end in one text."""

    def __init__(self, rules: dict[str, Part], text: str) -> None:
        self._rules = rules
        self._text = text
        self._known: dict[tuple[Part, int], frozenset[int]] = {}

    def ends(self, part: Part, start: int) -> frozenset[int]:
        """Where ``part`` can end that begins at ``start``."""
        key = part, start
        if key not in self._known:
            self._known[key] = frozenset(self._find(part, start))
        return self._known[key]

    def _find(self, part: Part, start: int) -> set[int]:
        match part:
            case Literal(text):
                return {start + len(text)} if self._text.startswith(text, start) else set()
            case OneCharacter():
                return {start + 1} if start < len(self._text) and self._text[start] in part else set()
            case Name(name):
                return set(self.ends(self._rules[name], start))
            case Choice(options):
                return {end for option in options for end in self.ends(option, start)}
            case Sequence(parts):
                places = {start}
                for each in parts:
                    places = {end for place in places for end in self.ends(each, place)}
                return places
            case Repeated(inner, least, most):
                return self._repeat(inner, least, most, start)

    def _repeat(self, inner: Part, least: int, most: int | None, start: int) -> set[int]:
        found: set[int] = set()
        places, count = {start}, 0
        while places and (most is None or count <= most):
            if count >= least:
                if most is None and places <= found:
                    break
                found |= places
            places = {end for place in places for end in self.ends(inner, place)}
            count += 1
        return found


class _Reader:
    """Reads the body of a rule."""

    def __init__(self, body: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(body):
            token = _TOKENS.match(body, at)
            if token is None or token.lastgroup is None:
                raise MalformedGrammar(body[at:])
            self._tokens.append((token.lastgroup, token[token.lastgroup]))
            at = token.end()
        self._tokens.reverse()

    def whole(self) -> Part:
        part = self._choice()
        if self._tokens:
            raise MalformedGrammar(str(self._tokens[-1]))
        return part

    def _choice(self) -> Part:
        options = [self._sequence()]
        while self._next() == "|":
            self._tokens.pop()
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Part:
        parts = []
        while self._tokens and self._next() not in ("|", ")"):
            parts.append(self._counted(self._one()))
        return Sequence(tuple(parts))

    def _one(self) -> Part:
        kind, text = self._tokens.pop()
        match kind:
            case "literal":
                return Literal("".join(_characters(text[1:-1])))
            case "class":
                return _class(text[1:-1])
            case "name":
                return Name(text)
            case "sign" if text == "(":
                inner = self._choice()
                if self._next() != ")":
                    raise MalformedGrammar("a bracket is not closed")
                self._tokens.pop()
                return inner
            case _:
                raise MalformedGrammar(text)

    def _counted(self, part: Part) -> Part:
        while self._tokens and (self._next() in ("*", "+", "?") or self._tokens[-1][0] == "counts"):
            least, most = _counts(self._tokens.pop()[1])
            if max(least, most or 0) > MOST_REPETITIONS or (most is not None and most < least):
                raise MalformedGrammar("too many repetitions")
            part = Repeated(part, least, most)
        return part

    def _next(self) -> str:
        return self._tokens[-1][1] if self._tokens else ""


def _counts(text: str) -> tuple[int, int | None]:
    match text:
        case "*":
            return 0, None
        case "+":
            return 1, None
        case "?":
            return 0, 1
    least, comma, most = text[1:-1].partition(",")
    return int(least), int(most) if most else None if comma else int(least)


def _characters(text: str) -> list[str]:
    return [
        chr(int(x or u or long, 16)) if x or u or long else _CONTROLS.get(escaped, escaped) or plain
        for x, u, long, escaped, plain in _CHARACTER.findall(text)
    ]


def _class(text: str) -> OneCharacter:
    negated = text.startswith("^")
    members = _CHARACTER.findall(text[negated:])
    characters = _characters(text[negated:])
    spans: list[tuple[str, str]] = []
    index = 0
    while index < len(characters):
        is_span = index + 2 < len(characters) and members[index + 1][4] == "-"
        spans.append((characters[index], characters[index + 2 if is_span else index]))
        index += 3 if is_span else 1
    return OneCharacter(tuple(spans), negated)


_SAMPLES = 'aZ09 _-+.,:;/\\"\n\t{}[]éß漢😀'


def _any_of(part: OneCharacter, source: random.Random) -> str:
    candidates = [character for character in _SAMPLES if character in part]
    if not part.negated:
        low, high = source.choice(part.spans)
        candidates += [low, high, chr(source.randint(ord(low), ord(high)))]
    return source.choice([c for c in candidates if not "\ud800" <= c <= "\udfff"])
