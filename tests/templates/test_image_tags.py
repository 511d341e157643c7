"""Image tags in the prompts of templates."""

from __future__ import annotations

import pytest

from orchestrator.domain.requests import Message
from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.templates.image_tags import TooManyImages, check_image_counts, tag_images
from orchestrator.templates.known import known
from orchestrator.templates.prompt import render_chat
from tests import prompt_records
from tests.golden_records import Record, records

RECORDED = [record for record in records("prompts/images.jsonl") if "template" in record]


@pytest.mark.parametrize("record", [pytest.param(record, id=record["id"]) for record in RECORDED])
def test_images_are_tagged_as_recorded(record: Record) -> None:
    messages, tools, think = prompt_records.conversation(record)
    families = record.get("families", ())
    if "error" in record:
        with pytest.raises(TooManyImages, match=f"^{record['error']}$"):
            check_image_counts(messages, families)
        return
    check_image_counts(messages, families)
    name = record["template"]
    template = GoTemplate.parse(prompt_records.template_text(name) or known(name).text)
    assert render_chat(template, tag_images(messages), tools, think) == record["prompt"]


@pytest.mark.parametrize(
    ("content", "images", "tagged"),
    [
        ("Compare", 2, "[img-0][img-1]Compare"),
        ("[img] or [img]", 2, "[img-0] or [img-1]"),
        ("only [img]", 2, "[img-1]only [img-0]"),
        ("[img] [img]", 1, "[img-0] [img]"),
        ("[img]", 0, "[img]"),
    ],
)
def test_a_tag_takes_the_next_place_or_stands_in_front(content: str, images: int, tagged: str) -> None:
    assert tag_images([Message("user", content, images=(b"",) * images)])[0].content == tagged


def test_numbers_run_over_all_messages() -> None:
    messages = [
        Message("user", "a", images=(b"",)),
        Message("user", "b"),
        Message("user", "c", images=(b"",)),
    ]
    assert [message.content for message in tag_images(messages)] == ["[img-0]a", "b", "[img-1]c"]
