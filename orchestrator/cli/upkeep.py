"""``orch prune`` and ``orch verify``: what nothing uses goes, what is damaged is found and fetched again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import closing

from orchestrator.cli.commands import PROGRAM
from orchestrator.cli.confirmation import confirmed
from orchestrator.cli.connection import server
from orchestrator.cli.follow import follow
from orchestrator.cli.progress import Display
from orchestrator.cli.tables import table
from orchestrator.client.wire import Damage, Progress, PruneReply, RemovableFile, VerifyRecord
from orchestrator.errors import OrchestratorError
from orchestrator.units import counted, format_bytes, format_when

HEADER = ("NAME", "KIND", "SIZE", "MODIFIED")


class StoreDamaged(OrchestratorError):
    """Something in the store is not as it should be."""

    def __init__(self, count: int, *, repairing: bool) -> None:
        super().__init__(f"the store is damaged in {counted(count, 'place')}")
        self.hint = (
            f"what cannot be fetched has to be created again, or removed with `{PROGRAM} rm`"
            if repairing
            else f"`{PROGRAM} verify --repair` fetches what is damaged again"
        )


def prune(*, dry_run: bool = False, yes: bool = False) -> None:
    """Show what no model uses, and remove it if that is wanted."""
    with server() as native:
        found = native.prune(dry_run=True)
        _show(found)
        if dry_run or not found["files"] or not (yes or confirmed()):
            return
        removed = native.prune(dry_run=False)
    print(f"removed {counted(len(removed['files']), 'item')}, {format_bytes(removed['size'])}")


def verify(model: str = "", *, insecure: bool = False, repair: bool = False) -> None:
    """Have every part of one model or of all read again, and tell what is wrong."""
    with (
        server() as native,
        Display() as display,
        closing(native.verify(model, repair=repair, insecure=insecure)) as records,
    ):
        verification = _Verification(records)
        follow(display, verification, label=lambda event: f"{event.get('status', '')}:")
    outcome = verification.last
    damages = outcome.get("damages", [])
    for damage in damages:
        print(_described(damage))
    if left := sum(not damage.get("repaired") for damage in damages):
        raise StoreDamaged(left, repairing=repair)
    print(f"{counted(outcome.get('blobs', 0), 'blob')}, {format_bytes(outcome.get('size', 0))}: all right")


class _Verification:
    """How far each blob is, from the records of the server; when it has ended ``last`` is the outcome."""

    def __init__(self, records: Iterable[VerifyRecord]) -> None:
        self.last: VerifyRecord = {}
        self._records = records

    def __iter__(self) -> Iterator[Progress]:
        for record in self._records:
            self.last = record
            if "digest" in record:
                status = record.get("status", "")  # a blob that is fetched again has a second bar
                total, completed = record.get("total", 0), record.get("completed", 0)
                yield Progress(status=status, digest=status, total=total, completed=completed)


def _show(found: PruneReply) -> None:
    now = time.time()
    if found["files"]:
        print(table(HEADER, [_row(file, now) for file in found["files"]]), end="")
        print(f"\n{counted(len(found['files']), 'item')}, {format_bytes(found['size'])} in all")
    else:
        print("there is nothing to remove")
    if spared := found.get("spared"):
        print(
            f"{counted(len(spared), 'item')} of {format_bytes(found.get('spared_size', 0))} "
            "will stay for now, being younger than an hour"
        )


def _row(file: RemovableFile, now: float) -> tuple[str, ...]:
    name = file["name"].removeprefix("sha256-")
    return name[:12], file["kind"], format_bytes(file["size"]), format_when(file["modified_at"], now)


def _described(damage: Damage) -> str:
    models = ", ".join(damage["models"])
    outcome = ""
    if damage.get("repaired"):
        outcome = "; fetched again"
    elif error := damage.get("repair_error"):
        outcome = f"; not fetched again: {error}"
    return f"{damage['problem']}: {damage['name']} of {models}: {damage['reason']}{outcome}"
