from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.llama_cpp.errors import MalformedPin
from orchestrator.llama_cpp.pin import Pin

ROOT = Path(__file__).parents[2]
SUM = "a" * 64
LINES = {
    "tag": "b7",
    "git": "https://host/llama.cpp.git",
    "sdist": f"source-of-it==7.0 sha256:{SUM}",
    "tree": f"sha256:{SUM}",
}


def text(**changes: str) -> str:
    return "".join(f"{name}  {value}\n" for name, value in (LINES | changes).items())


def test_a_pin_is_read() -> None:
    assert Pin.parse(text()) == Pin("b7", "https://host/llama.cpp.git", "source-of-it==7.0", SUM, SUM)
    assert Pin.parse(text()).distribution == "source-of-it"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"tag": ""}, "needs the lines tag, git, sdist"),
        ({"sdist": "source-of-it==7.0"}, "needs the lines tag, git, sdist"),
        ({"tree": "sha256:abc"}, "'sha256:abc' is no checksum"),
        ({"tree": f"md5:{SUM}"}, "is no checksum"),
    ],
)
def test_a_pin_that_says_too_little_is_refused(changes: dict[str, str], complaint: str) -> None:
    with pytest.raises(MalformedPin, match=complaint):
        Pin.parse(text(**changes))


def test_our_own_pin_can_be_read() -> None:
    assert Pin.parse((ROOT / "llama/LLAMA_CPP_VERSION").read_text()).tag == "b11434"
