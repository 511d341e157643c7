"""Model files that are made to do harm."""

from __future__ import annotations

import random
import struct
from typing import Any

import psutil
import pytest

from integration.cases.place import Place
from integration.toy import get, post, upload

MAGIC = b"GGUF" + struct.pack("<I", 3)


def header(tensors: int, keys: int) -> bytes:
    return MAGIC + struct.pack("<QQ", tensors, keys)


# case B143, case B146
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(header(0, 1) + struct.pack("<Q", 2**60) + b"key!", id="B143-length"),
        pytest.param(header(0, 2**62), id="keys"),
        pytest.param(header(2**62, 0), id="tensors"),
        pytest.param(header(0, 1) + struct.pack("<Q", 0) + struct.pack("<I", 0) + b"\0", id="B146-empty-key"),
        pytest.param(
            header(0, 1) + struct.pack("<Q", 1) + b"k" + struct.pack("<IIQ", 9, 9, 2**40),
            id="array-of-arrays",
        ),
        pytest.param(header(0, 1) + struct.pack("<Q", 1) + b"k" + struct.pack("<IQ", 8, 2**63), id="string"),
        pytest.param(
            header(1, 0)
            + struct.pack("<Q", 1)
            + b"t"
            + struct.pack("<I", 4)
            + struct.pack("<4QIQ", *[2**40] * 4, 0, 0),
            id="dimensions",
        ),
        pytest.param(MAGIC, id="cut"),
        pytest.param(b"GGUF" + struct.pack("<IQQ", 1, 0, 0), id="version"),
    ],
)
def test_a_hostile_file_is_refused(here: Place, content: bytes) -> None:
    digest = upload(here.server, content)
    answer = post(
        here.server, "/api/create", {"model": "hostile", "files": {"m.gguf": digest}, "stream": False}
    )
    assert answer.status == 400, answer
    assert answer.body["error"]
    assert get(here.server, "/api/version").status == 200


# case B143
def test_random_damage_is_refused_in_bounded_memory(here: Place) -> None:
    rng = random.Random(5)
    before = daemon_bytes(here)
    for _ in range(30):
        content = MAGIC + rng.randbytes(rng.randrange(0, 200))
        digest = upload(here.server, content)
        body = {"model": "hostile", "files": {"m.gguf": digest}, "stream": False}
        assert post(here.server, "/api/create", body).status == 400
    assert daemon_bytes(here) - before < 64 << 20


def daemon_bytes(here: Place) -> int:
    """Memory of the process that listens."""
    port = here.server.port
    listening = (
        process
        for process in psutil.process_iter()
        if any(
            c.laddr and c.laddr.port == port and c.status == psutil.CONN_LISTEN for c in connections(process)
        )
    )
    size: int = next(listening).memory_info().rss
    return size


def connections(process: psutil.Process) -> list[Any]:
    try:
        return list(process.net_connections("tcp"))
    except psutil.Error:
        return []
