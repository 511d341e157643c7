"""The body of ``POST /api/create`` for a plan.

Source: ``modelfile`` §4.2 and §4.3.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.domain.digests import Digest
from orchestrator.modelfile.plan import Creation


def create_request(plan: Creation, digests: Mapping[Path, Digest]) -> dict[str, Any]:
    """The members of the body that the Modelfile decides; empty ones are left out."""
    body = {
        "from": plan.base,
        "files": _named(plan.files, digests),
        "adapters": _named(plan.adapters, digests),
        "draft_files": _named(plan.draft_files, digests),
        "template": plan.template,
        "system": plan.system,
        "license": list(plan.licenses),
        "parameters": dict(plan.parameters),
        "messages": [{"role": message.role, "content": message.content} for message in plan.messages],
        "renderer": plan.renderer,
        "parser": plan.parser,
        "requires": plan.requires,
    }
    return {name: value for name, value in body.items() if value}


def request_names(paths: Sequence[Path]) -> dict[Path, str]:
    """The name each file has in a request: its path below the deepest folder that all share."""
    if len(paths) < 2:
        return {path: path.name for path in paths}
    shared = os.path.commonpath([path.parent for path in paths])
    return {path: path.relative_to(shared).as_posix() for path in paths}


def _named(paths: Sequence[Path], digests: Mapping[Path, Digest]) -> dict[str, str]:
    return {name: str(digests[path]) for path, name in request_names(paths).items()}
