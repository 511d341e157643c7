"""Programs that stand in for llama-quantize: they take its command line, and do as they are told."""

from __future__ import annotations

import os
from pathlib import Path

from orchestrator.create.quantizer import Quantizer

COPYING = 'cp "$1" "$2"'
"""What the program does with ``$1``, the model, ``$2``, where the new one belongs, and ``$3``, its type."""

_PROGRAM = """#!/bin/sh
echo "$@" >> "$0.log"
while [ "${{1#--}}" != "$1" ]; do
    if [ "$1" = --tensor-type ]; then shift; fi
    shift
done
{body}
"""


def stand_in_quantizer(folder: Path, body: str = COPYING) -> Quantizer:
    """A program in ``folder`` that runs the shell commands ``body``."""
    program = folder / "llama-quantize"
    program.write_text(_PROGRAM.format(body=body))
    program.chmod(0o755)
    return Quantizer.at(program, os.environ)


def command_lines(quantizer: Quantizer) -> list[list[str]]:
    """The arguments of each run so far."""
    log = quantizer.program.with_name(quantizer.program.name + ".log")
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []
