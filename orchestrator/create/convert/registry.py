"""Converters by the architecture ``config.json`` names."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.create.convert.base import Converter
from orchestrator.create.convert.bert import convert_bert
from orchestrator.create.convert.errors import UnsupportedArchitecture
from orchestrator.create.convert.nomic_bert import convert_nomic_bert

CONVERTERS: Mapping[str, Converter] = {
    "BertModel": convert_bert,
    "NomicBertModel": convert_nomic_bert,
    "NomicBertMoEModel": convert_nomic_bert,
}


def converter_of(architecture: str) -> Converter:
    """The converter of an architecture. Raises ``UnsupportedArchitecture``."""
    try:
        return CONVERTERS[architecture]
    except KeyError:
        raise UnsupportedArchitecture(f'unsupported architecture "{architecture}"') from None
