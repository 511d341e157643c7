"""Streams: text comes through whole in any pieces, stop strings do not come through at all."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest

from integration.cases.place import PLAIN, Json, Place, completion, folded, told

FAMILY = "👩\u200d👩\u200d👧\u200d👦 ist da: é, 漢字, 🇳🇴."


def raw(reply: list[str | Json], size: int) -> Iterator[Json]:
    """A stream of the engine, cut into pieces of ``size`` bytes wherever that is."""
    frames = [json.dumps(frame, ensure_ascii=False) for frame in completion(reply)]
    content = "".join(f"data: {frame}\n\n" for frame in frames).encode()
    for at in range(0, len(content), size):
        yield {"$b64": base64.b64encode(content[at : at + size]).decode()}


# case B085
@pytest.mark.parametrize("size", [1, 2, 7, 5000])
def test_a_character_cut_in_the_middle_is_still_one(here: Place, size: int) -> None:
    model = here.model("templated", template=PLAIN)
    stream = {"sse": list(raw([*FAMILY], size))}
    here.script(answers={"/completion": [stream]}, answers_repeat=True)
    streamed, plain = folded(here.streamed(model, "x")), told(here.chat(model, "x"))
    assert streamed["content"] == plain["content"] == FAMILY


# case B087
@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("native", [False, True])
def test_neither_a_part_nor_the_whole_of_a_stop_string_is_seen(here: Place, size: int, native: bool) -> None:
    model = here.native("native") if native else here.model("templated", template=PLAIN)
    output = "All done\n>>> END\nand more"
    here.says([output[at : at + size] for at in range(0, len(output), size)])
    options = {"stop": [">>> END", ">>> END\n"]}
    streamed = folded(here.streamed(model, "x", options=options))
    assert streamed == told(here.chat(model, "x", options=options))
    assert (streamed["content"], streamed["done_reason"]) == ("All done\n", "stop")


# case B087
def test_the_rest_of_a_stop_string_that_the_engine_met_is_not_seen(here: Place) -> None:
    model = here.model("templated", template=PLAIN)
    here.says(["All done\n", ">>>", {"stop_type": "word", "stopping_word": ">>> END"}])
    assert told(here.chat(model, "x", options={"stop": [">>> END"]}))["content"] == "All done\n"


# case B088
@pytest.mark.parametrize("route", ["chat", "generate"])
def test_stops_of_model_and_request_add_up(here: Place, route: str) -> None:
    model = here.model("stopping", template=PLAIN, parameters={"stop": ["<eot>"]})
    here.says(["fine", "<eot>", "junk"])
    options = {"stop": ["Observe:"]}
    if route == "chat":
        assert told(here.chat(model, "x", options=options))["content"] == "fine"
    else:
        assert here.generate(model, options=options).body["response"] == "fine"
    assert set(here.calls("/completion")[0]["stop"]) == {"<eot>", "Observe:"}
