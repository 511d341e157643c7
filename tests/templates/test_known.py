"""Which built-in template a model gets."""

from __future__ import annotations

from time import perf_counter

import pytest

from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.templates.known import DIGESTS, NAMES, SIGNATURES, autodetect, by_digest, known
from tests.golden_records import Record, records

DETECT = records("prompts/detect.jsonl")


def detected(kind: str) -> list[object]:
    return [pytest.param(record, id=record["id"]) for record in DETECT if record["id"].startswith(kind)]


@pytest.mark.parametrize("record", detected("index/"))
def test_a_known_text_is_known_by_its_digest(record: Record) -> None:
    assert by_digest(record["jinja_sha256"]) == record["name"]


def test_every_known_text_has_a_built_in_template() -> None:
    assert len(DIGESTS) == 37
    assert set(DIGESTS.values()) <= set(NAMES)


@pytest.mark.parametrize("record", detected("edit/"))
def test_edited_texts_come_from_known_ones(record: Record) -> None:
    assert record["name"] in (None, by_digest(record["base_sha256"]))


@pytest.mark.parametrize("record", detected("jinja/"))
def test_a_text_of_our_own_is_detected_as_recorded(record: Record) -> None:
    found = autodetect(record["jinja"])
    assert (found.name if found else None) == record["name"]


ROLE, TEXT = "{{ m.role }}", "{{ m.content }}"


def each(turn: str) -> str:
    return "{% for m in messages %}" + turn + "{% endfor %}"


TURNS = {
    "alfred": each(f"<start_{ROLE}>{TEXT}<end_message>"),
    "chatml": each(f"<|im_start|>{ROLE}\n{TEXT}<|im_end|>\n"),
    "llama3-instruct": each(f"<|start_header_id|>{ROLE}<|end_header_id|>\n\n{TEXT}<|eot_id|>"),
    "llama2-chat": each(f"[INST] <<SYS>>\n{TEXT}\n<</SYS>>\n\n [/INST]"),
    "mistral-instruct": each(f"[INST] {TEXT} [/INST]"),
    "gemma-instruct": each(f"<start_of_turn>{ROLE}\n{TEXT}<end_of_turn>\n"),
    "gemma3-instruct": each(f"<start_of_turn>{ROLE}\n<start_of_image>{TEXT}<end_of_turn>\n"),
    "phi-3": each(f"<|{ROLE}|>\n{TEXT}<|end|>\n") + "<|assistant|>\n",
    "zephyr": each(f"<|user|>\n{TEXT}</s>\n") + "<|assistant|>\n",
    "openchat": each(f"GPT4 Correct {ROLE}: {TEXT}<|end_of_turn|>"),
    "solar-instruct": each(f"### User:\n{TEXT}\n\n### Assistant:\n"),
    "alpaca": each(f"### Instruction:\n{TEXT}\n\n### Response:\n"),
    "starcoder2-instruct": each(f"### Instruction\n{TEXT}\n\n### Response\n"),
    "magicoder": each(f"@@ Instruction\n{TEXT}\n\n@@ Response\n"),
    "granite-instruct": each(f"Question:\n{TEXT}\n\nAnswer:\n"),
    "falcon-instruct": each(f"User:\n{TEXT}\nFalcon:\n"),
    "chatqa": "System: s\n\n" + each(f"User: {TEXT}\n\nAssistant: "),
    "command-r": each(f"<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>{TEXT}"),
    "codellama-70b-instruct": each(f"Source: {ROLE}\n\n {TEXT} <step> ") + "Destination: user",
}


@pytest.mark.parametrize(("name", "text"), TURNS.items(), ids=list(TURNS))
def test_a_family_is_told_by_the_tokens_of_its_turns(name: str, text: str) -> None:
    found = autodetect(text)
    assert found is not None
    assert found.name == name


def test_every_signature_has_an_example() -> None:
    assert {signature.name for signature in SIGNATURES} == TURNS.keys()


@pytest.mark.parametrize("more", ["{% if tools %}", "<think>", "{{ message.reasoning_content }}", " " * 5000])
def test_a_template_that_does_more_than_turns_is_left_alone(more: str) -> None:
    assert autodetect(TURNS["chatml"] + more) is None


def test_a_long_text_is_looked_at_quickly() -> None:
    text = "{% for m in messages %}" * 50_000
    start = perf_counter()
    assert autodetect(text) is None
    assert perf_counter() - start < 0.1


@pytest.mark.parametrize("name", NAMES)
def test_built_in_templates_are_whole(name: str) -> None:
    template = known(name)
    assert "\r" not in template.text
    assert template.parameters["stop"]
    assert GoTemplate.parse(template.text).wants_messages


def test_parameters_beyond_stop_strings_are_kept() -> None:
    assert known("gemma3-instruct").parameters == {"stop": ["<end_of_turn>"], "temperature": 0.1}
