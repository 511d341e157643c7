"""Encoders whose tokenizer's table of characters is stored as text."""

from __future__ import annotations

import base64
import binascii

from orchestrator.compat.draft import Draft
from orchestrator.compat.errors import CannotTranslate
from orchestrator.compat.families.base import Family
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.source import Source

_TABLE = "tokenizer.ggml.precompiled_charsmap"


def _has_text_table(source: Source) -> bool:
    is_text = source.header.types.get(_TABLE) == "arr:str"
    return is_text and source.config.string("tokenizer.ggml.model") == "t5"


def _text(source: Source) -> FilePlan:
    draft = Draft(source)
    try:
        table = base64.b64decode("".join(source.array(_TABLE)), validate=True)
    except (binascii.Error, ValueError) as error:
        raise CannotTranslate(f"{_TABLE} is not base64: {error}") from error
    draft.set(_TABLE, "arr:u8", table)
    return draft.plan()


FAMILIES = {"bert": (Family(fits=_has_text_table, text=_text),)}
