"""JSON texts of others, read by the standard library: whatever is wrong with one is a ``ValueError``."""

from __future__ import annotations

import json
from typing import Any

_PYTHONS_ADVICE = "set_int_max_str_digits"


def parse_json(text: str | bytes | bytearray, **hooks: Any) -> Any:
    """The value of ``text``; ``hooks`` are those of ``json.loads``. Raises ``ValueError``, nothing else."""
    try:
        return json.loads(text, **hooks)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except ValueError as error:
        if _PYTHONS_ADVICE in str(error):
            raise ValueError("a number has too many digits") from error
        raise
