"""What ``orch show`` and ``/show info`` tell about a model: titled sections of short rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from orchestrator.cli.cells import cells
from orchestrator.cli.tables import Row, block
from orchestrator.client.wire import ModelCard
from orchestrator.units import format_count

_TEXT_WIDTH = 100
_TEXT_LINES = 2
_ARRAY_WIDTH = 10


def draw(card: ModelCard, *, verbose: bool = False) -> str:
    """The sections of a model that have something to say."""
    text = _section("Model", _model(card), always=True)
    text += _section("Capabilities", [[name] for name in card.get("capabilities") or ()])
    if projector := card.get("projector_info"):
        text += _section("Projector", _projector(projector))
    text += _section("Parameters", [line.split() for line in parameter_lines(card)])
    if verbose:
        text += _section("Metadata", _metadata(card.get("model_info") or {}))
        text += _section("Tensors", _tensors(card))
    text += _section("System", _beginning(card.get("system", "")), limit=_TEXT_WIDTH)
    return text + _section("License", _beginning(card.get("license", "")), limit=_TEXT_WIDTH)


def parameter_lines(card: ModelCard) -> list[str]:
    """The model's parameters, one a line, by name; several values of one keep their order."""
    lines = (card.get("parameters") or "").split("\n")
    return sorted((line for line in lines if line.strip()), key=lambda line: line.split()[0])


def _section(title: str, rows: Sequence[Row], *, always: bool = False, limit: int = 30) -> str:
    return f"  {title}\n{block(rows, indent=4, limit=limit)}\n" if rows or always else ""


def _model(card: ModelCard) -> list[Row]:
    rows: list[Row] = []
    details = card.get("details") or {}
    if card.get("remote_host"):
        rows += [["Remote model", card.get("remote_model", "")], ["Remote URL", card.get("remote_host", "")]]
    if (facts := card.get("model_info")) is not None:
        rows += _facts(facts, details.get("parameter_size", ""))
    else:
        rows += [
            ["architecture", details.get("family", "")],
            ["parameters", details.get("parameter_size", "")],
        ]
    rows.append(["quantization", details.get("quantization_level", "")])
    if requires := card.get("requires"):
        rows.append(["requires", requires])
    return rows


def _facts(facts: Mapping[str, Any], parameters: str) -> Iterator[Row]:
    architecture = facts.get("general.architecture", "")
    if not parameters and (count := facts.get("general.parameter_count")):
        parameters = _count(count)
    rows = {
        "architecture": architecture,
        "parameters": parameters,
        "context length": facts.get(f"{architecture}.context_length"),
        "embedding length": facts.get(f"{architecture}.embedding_length"),
    }
    return ([name, str(value)] for name, value in rows.items() if value not in (None, ""))


def _count(value: Any) -> str:
    """A number in few letters; what is none, from servers of others, as it came."""
    return format_count(int(value)) if isinstance(value, int | float) else str(value)


def _projector(facts: Mapping[str, Any]) -> list[Row]:
    architecture = facts.get("general.architecture", "")
    kind = "vision" if any(".vision." in key for key in facts) else "audio"
    parts = {
        "architecture": architecture,
        "parameters": _count(facts.get("general.parameter_count") or 0),
        "embedding length": facts.get(f"{architecture}.{kind}.embedding_length"),
        "dimensions": facts.get(f"{architecture}.{kind}.projection_dim"),
    }
    return [[name, str(value)] for name, value in parts.items() if value is not None]


def _metadata(facts: Mapping[str, Any]) -> list[Row]:
    return [[key, _value(facts[key])] for key in sorted(facts)]


def _tensors(card: ModelCard) -> list[Row]:
    return [
        [tensor["name"], tensor["type"], f"[{' '.join(map(str, tensor['shape'] or ()))}]"]
        for tensor in card.get("tensors") or ()
    ]


def _beginning(text: str) -> list[Row]:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    more = ["..."] if len(lines) > _TEXT_LINES else []
    return [[line] for line in lines[:_TEXT_LINES] + more]


def _value(value: Any) -> str:
    return _array(value) if isinstance(value, list) else scalar(value)


def _array(items: Sequence[Any]) -> str:
    """As many items as fit a narrow column, and how many more there are."""
    texts = [scalar(item, exponent_from=21) for item in items]
    width = 1
    shown = 0
    for text in texts:
        width += cells(text) + (2 if shown else 0)
        if shown and width > _ARRAY_WIDTH:
            break
        shown += 1
    more = f" ...+{len(texts) - shown} more" if shown < len(texts) else ""
    return f"[{' '.join(texts[:shown])}{more}]"


def scalar(value: Any, *, exponent_from: int = 6) -> str:
    """A value as Go prints it: all numbers are floating-point ones."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return _float(float(value), exponent_from)
        case None:
            return "<nil>"
        case _:
            return str(value)


def _float(value: float, exponent_from: int) -> str:
    """The shortest digits that give value again; with an exponent from ``exponent_from`` digits on."""
    shortest = Decimal(repr(value))
    if not shortest.is_finite() or not shortest:
        return format(value, "g")
    exponent = shortest.adjusted()
    if -4 <= exponent < exponent_from:
        return format(shortest.normalize(), "f")
    digits = format(shortest.scaleb(-exponent).normalize(), "f")
    return f"{digits}e{exponent:+03d}"
