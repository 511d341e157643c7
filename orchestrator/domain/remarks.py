"""The words in which a client is told what of its request does not count, or not as it is."""

from __future__ import annotations


def no_effect(where: str, why: str) -> str:
    """The remark on a value that is passed over."""
    return f"{where} has no effect: {why}"


def counts_as(where: str, what: object, why: str) -> str:
    """The remark on a value that another one stands for."""
    return f"{where} counts as {what}: {why}"
