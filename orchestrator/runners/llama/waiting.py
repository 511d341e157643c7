"""How long threads of an engine stay awake between two pieces of work.

The threads of an engine meet after every operation of a model, and who comes early spins until the last
is there: OpenMP's for some milliseconds, by default. On a machine that does nothing else the last is
microseconds away. When something else wants a core it is a time slice away, and what the others spin away
meanwhile is just what would let the last one come. With 13 other programs on two cores, a model of 135M
parameters generated 0.1 tokens/s with the default of 300,000 turns, 1.0 with 10,000, 6 with 2,000, 32 with
400; with llama.cpp's own threads, which spin without end, 0.15.

Who sleeps has to be woken, and that must not take longer than the others spin, or they fall asleep by
turns: with 2,000 and fewer the first token after a rest came 5 to 15 ms later, with 10,000, which is a
tenth of a millisecond, no later than by default.
"""

from __future__ import annotations

from collections.abc import Mapping

_TURNS = "GOMP_SPINCOUNT"
_CHOICES = (_TURNS, "OMP_WAIT_POLICY")


def waiting(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that let waiting threads sleep soon, unless ``environ`` says what they do."""
    return {} if any(name in environ for name in _CHOICES) else {_TURNS: "10000"}
