"""The hash of a file that is written in any order."""

from __future__ import annotations

import hashlib
import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.registry.prefix import PrefixHash


@given(st.lists(st.integers(1, 40), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_any_order_gives_the_hash_of_the_whole(sizes: list[int], chance: random.Random) -> None:
    content = chance.randbytes(sum(sizes))
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    pieces = [(start, content[start : start + size]) for start, size in zip(starts, sizes, strict=True)]
    chance.shuffle(pieces)
    prefix = PrefixHash()
    descriptor = os.memfd_create("data")
    try:
        for position, piece in pieces:
            os.pwrite(descriptor, piece, position)
            prefix.feed(position, [piece[:3], piece[3:]])
        while not prefix.read(descriptor, len(content)):
            pass
    finally:
        os.close(descriptor)
    assert prefix.hex() == hashlib.sha256(content).hexdigest()


def test_what_comes_in_order_is_not_read_again() -> None:
    prefix = PrefixHash()
    prefix.feed(0, [b"ab"])
    prefix.feed(2, [b"cd"])
    assert prefix.read(-1, 4)
    assert prefix.hex() == hashlib.sha256(b"abcd").hexdigest()


def test_a_file_that_has_become_shorter_is_told(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w+b") as file, pytest.raises(OSError, match="shorter"):
        PrefixHash().read(file.fileno(), 10)
