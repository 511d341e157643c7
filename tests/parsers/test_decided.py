"""Outputs where it was decided what is right: spec §9, and cases reported by users of other servers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.parsers import registry
from tests.parsers.families import ALL, FAMILIES, TOOLS, parser
from tests.parsers.recorded import total

ON, OFF = Think(on=True), Think(on=False)


def made(
    name: str, text: str, think: Think | None = OFF, *, last: Message | None = None, tools: Any = TOOLS
) -> tuple[str, str, list[tuple[str, dict[str, Any]]]]:
    """Content, thinking and calls of an output; the same whole and in characters."""
    results = []
    for pieces in ([text], text):
        started = registry.make(name)
        assert started is not None
        started.start(tools, last, think)
        results.append(total(started, pieces))
    assert results[0] == results[1]
    calls = [(call["name"], call["arguments"]) for call in results[0]["calls"]]
    return results[0]["content"], results[0]["thinking"], calls


def function(name: str, **arguments: str) -> str:
    """A call as qwen3-coder writes it, without its outer tags."""
    parameters = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments.items())
    return f"<function={name}>\n{parameters}</function>"


CODERS = ("qwen3-coder", "qwen3.5", "ornith", "nemotron-3-nano", "nemotron-3.5-nano")
UNASKED = ("qwen3.5", "ornith", "nemotron-3-nano", "nemotron-3.5-nano", "deepseek3", "lfm2-thinking")


# thinking that nobody asked for: §9.12, §9.14


@pytest.mark.parametrize("name", UNASKED)
def test_an_unasked_thought_at_the_start_is_thinking(name: str) -> None:
    assert made(name, "\n<think>\nHidden </think>\n\nSeen") == ("Seen", "Hidden", [])
    assert made(name, "Seen <think>a</think>") == ("Seen <think>a</think>", "", [])
    assert made(name, " <thi") == (" <thi", "", [])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gemma4", "<|channel>thought\nHidden<channel|>Seen"),
        ("laguna", "<think>Hidden</think>Seen"),
        ("poolside-v1", "<think>Hidden</think>Seen"),
        ("glimmer", " to=self<|message|>Hidden<|eom|><|start|>assistant<|message|>Seen<|eot|>"),
    ],
)
def test_unasked_thinking_is_dropped_where_its_tags_cannot_be_text(name: str, text: str) -> None:
    assert made(name, text) == ("Seen", "", [])


def test_cogito_thinks_only_without_tools() -> None:
    assert made("cogito", "a</think>b", ON, tools=()) == ("b", "a", [])
    assert made("cogito", "a</think>b", ON) == ("a</think>b", "", [])


# unfinished calls: §9.2, §9.14


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qwen3", '<tool_call>{"name":"other","arguments":{"a":"x"}}'),
        ("qwen3-coder", f"<tool_call>{function('other', a='x')}\n</tool_"),
        ("laguna", "<tool_call>other<arg_key>a</arg_key><arg_value>x</arg_value>"),
        ("gemma4", '<|tool_call>call:other{a:<|"|>x<|"|>}<tool'),
        ("lfm2", "<|tool_call_start|>[other(a='x')]"),
        ("olmo3", '<function_calls>\nother(a="x")\n'),
        ("functiongemma", "<start_function_call>call:other{a:<escape>x<escape>}"),
        ("cohere", '<|START_ACTION|>[{"tool_name":"other","parameters":{"a":"x"}}]'),
        ("deepseek3", '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>other<｜tool▁sep｜>{"a":"x"}'),
    ],
)
def test_a_complete_call_needs_no_closing_tag_and_no_declared_tool(name: str, text: str) -> None:
    assert made(name, text) == ("", "", [("other", {"a": "x"})])


def test_an_unfinished_call_needs_its_required_arguments() -> None:
    text = '<tool_call>{"name":"note","arguments":{"b":1}}'
    assert made("qwen3", text) == (text, "", [])
    assert made("qwen3", f"{text}</tool_call>")[2] == [("note", {"b": 1})]


@pytest.mark.parametrize("name", ["glm-4.7", "glm-ocr"])
def test_an_unfinished_call_of_glm_must_be_of_a_declared_tool(name: str) -> None:
    text = "<tool_call>other<arg_key>a</arg_key><arg_value>x</arg_value>"
    assert made(name, text) == (text, "", [])
    assert made(name, text.replace("other", "note"))[2] == [("note", {"a": "x"})]


@pytest.mark.parametrize("name", ["qwen3", "qwen3-vl-instruct"])
def test_arguments_may_be_a_string_that_holds_an_object(name: str) -> None:
    text = '<tool_call>{"name": "note", "arguments": "{\\"a\\": \\"x\\"}"}</tool_call>'
    assert made(name, text) == ("", "", [("note", {"a": "x"})])


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}\n```", "\n```json\n{}```"])
def test_a_fence_around_arguments_does_not_count(fence: str) -> None:
    text = f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get<｜tool▁sep｜>{fence}<｜tool▁call▁end｜>"
    assert made("deepseek3", text) == ("", "", [("get", {})])


# given-back text is verbatim: §9.13


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("qwen3", "<tool_call>\n oops\n</tool_call>"),
        ("qwen3-coder", "<tool_call>\n oops\n</tool_call>"),
        ("glm-4.7", "<tool_call>\n\n</tool_call>"),
        ("deepseek3", "<｜tool▁calls▁begin｜> <｜tool▁calls▁end｜>"),
        ("lfm2", "<|tool_call_start|> oops <|tool_call_end|>"),
        ("laguna", "<tool_call>{}</tool_call>"),
        ("gemma4", "<|tool_call> oops <tool_call|>"),
        ("ministral", "[TOOL_CALLS]get[ARGS] oops"),
    ],
)
def test_a_broken_call_comes_back_with_the_white_space_around_it(name: str, bad: str) -> None:
    text = f"One.\n\n{bad}\n\nTwo."
    assert made(name, text) == (text, "", [])


def test_a_bad_call_of_a_block_comes_back_alone() -> None:
    good = "<｜tool▁call▁begin｜>get<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
    bad = "<｜tool▁call▁begin｜>get<｜tool▁sep｜>{,}<｜tool▁call▁end｜>"
    text = f"One. <｜tool▁calls▁begin｜>{good}\n{bad}\n{good}\n<｜tool▁calls▁end｜> Two."
    assert made("deepseek3", text) == (f"One.{bad}Two.", "", [("get", {})] * 2)


def test_made_up_results_that_never_end_are_text() -> None:
    text = "One <｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>4C"
    assert made("cogito", text) == (text, "", [])


def test_bare_text_after_a_broken_action_keeps_its_white_space() -> None:
    text = "<|START_ACTION|>oops<|END_ACTION|>\n\nBye."
    assert made("cohere", text) == (text, "", [])


def test_an_empty_list_of_actions_is_nothing() -> None:
    assert made("cohere", "<|START_ACTION|> [] <|END_ACTION|>x") == ("x", "", [])
    assert made("cohere", "<|START_ACTION|>[]<|END_AC") == ("", "", [])


def test_thinking_may_begin_again_between_blocks() -> None:
    text = "a<|START_TEXT|>b<|END_TEXT|><|START_THINKING|>c<|END_THINKING|><|END_THINKING|>d"
    assert made("cohere", text, ON) == ("bd", "ac", [])


# cases reported by users


@pytest.mark.parametrize("name", [name for name in ALL if ALL[name].call])
def test_a_sentence_before_a_call_is_kept(name: str) -> None:  # case B020
    family = ALL[name]
    if name in ("generic '{'", "generic '['"):
        pytest.skip("bare JSON counts only at the start")
    before = {"harmony": "<|channel|>commentary<|message|>", "glimmer": "<|message|>"}.get(name, "")
    between = {"harmony": "<|end|><|start|>assistant", "glimmer": "<|eom|><|start|>assistant"}.get(name, "")
    found = total(parser(name, OFF), f"{before}I will add them.{between}{family.call}")
    assert found["content"] == "I will add them."
    assert len(found["calls"]) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gemma4", '<|tool_call>call:note{{a:<|"|>a<|"|>,{rest}}}<tool_call|>'),
        ("functiongemma", "<start_function_call>call:note{{a:<escape>a<escape>,{rest}}}<end_function_call>"),
    ],
)
def test_an_argument_that_cannot_be_read_is_never_lost(name: str, text: str) -> None:  # case B021
    repaired = [("note", {"a": "a", "as": "memo.txt"})]
    assert made(name, text.format(rest="as='memo.txt'")) == ("", "", repaired)


def test_arguments_that_cannot_be_repaired_come_back_as_text() -> None:  # case B021
    broken = "<|tool_call>call:note{a:<|\"|>a<|\"|>,as 'memo.txt'}<tool_call|>"
    assert made("gemma4", broken) == (broken, "", [])


@pytest.mark.parametrize("name", CODERS)
def test_a_value_that_looks_like_tags_is_literal(name: str) -> None:  # case B025
    value = "<function=demo> if a < b && c </parameter-ish>"
    text = f"<tool_call>\n{function('note', a=value)}\n</tool_call>"
    assert made(name, text) == ("", "", [("note", {"a": value})])


@pytest.mark.parametrize("name", CODERS)
def test_a_function_without_outer_tags_is_a_call_if_it_is_declared(name: str) -> None:  # case B026
    text = f"Well. {function('note', a='x </function> y')}\n</tool_call>\nDone."
    assert made(name, text) == ("Well.Done.", "", [("note", {"a": "x </function> y"})])
    undeclared = f"Well. {function('other', a='x')}\n</tool_call> Done."
    assert made(name, undeclared) == (undeclared, "", [])


@pytest.mark.parametrize("name", CODERS)
def test_a_bare_function_that_is_no_call_is_text(name: str) -> None:  # case B026
    for text in ("Use <function=note> so", "<function=note><parameter=a\n</function> x"):
        assert made(name, text) == (text, "", [])


@pytest.mark.parametrize("name", CODERS)
def test_a_call_cut_in_a_parameter_is_text(name: str) -> None:  # case B027
    text = "So. <tool_call>\n<function=note>\n<parameter=a>"
    assert made(name, text) == (text, "", [])


@pytest.mark.parametrize("name", CODERS)
def test_a_wrong_inner_tag_is_text(name: str) -> None:  # case B028
    text = '<tool_call><function_invocation name="note"><parameter=a>x</parameter></tool_call>'
    assert made(name, text) == (text, "", [])


@pytest.mark.parametrize("name", CODERS)
def test_a_broken_call_takes_no_other_with_it(name: str) -> None:  # case B029
    broken = "<tool_call><function=note><parameter=a\nx</parameter></function></tool_call>"
    good = f"<tool_call>{function('get')}</tool_call>"
    assert made(name, good + broken + good) == (broken, "", [("get", {})] * 2)


@pytest.mark.parametrize("name", CODERS)
def test_only_the_first_function_of_a_block_counts(name: str) -> None:
    text = f"<tool_call>{function('note', a='x')}\n{function('get', b='1')}</tool_call>"
    assert made(name, text) == ("", "", [("note", {"a": "x"})])
    without_close = "<tool_call><function=note><parameter=a>x</function><function=get></function></tool_call>"
    assert made(name, without_close)[2] == [("note", {"a": "x"})]


@pytest.mark.parametrize(
    ("inner", "value"),
    [
        ("<parameter=a>x</parameter>", "x"),
        ("<parameter=a>x", "x"),
        ("<parameter=a>x<parameter=b>1</parameter></function>", "x"),
        ("<parameter=a>x</function> y</parameter>", "x</function> y"),
        ("<parameter= a >\r\nx\r\n</parameter></function>", "x"),
        ("</parameter><parameter=a>x</parameter></function>", "x"),
    ],
)
def test_a_value_ends_as_late_as_it_can(inner: str, value: str) -> None:
    (call,) = made("qwen3-coder", f"<tool_call><function=note>{inner}</tool_call>")[2]
    assert call[1]["a"] == value


def test_harmony_reads_code_in_arguments_or_gives_it_back() -> None:  # case B031
    code = '/**\n * doc {comment}\n */\nf("x");'
    head = "<|channel|>commentary to=functions.note<|constrain|>json<|message|>"
    assert made("harmony", head + json.dumps({"a": code}))[2] == [("note", {"a": code})]
    raw = f'{{"a": "{code}"}}'
    assert made("harmony", head + raw) == (raw, "", [])


@pytest.mark.parametrize(
    "header",
    [
        "<|channel|>analysis to=functions.note code",  # case B034
        " to=functions.note<|channel|>commentary",  # case B035
        "<|channel|>commentary to=functions.note<|channel|>commentary json",  # case B035
        "<|channel|>commentary to=functions.note <|constrain|>json",
        "<|channel|>commentary<|constrain|>json to=note",
        "\n<|channel|>commentary to=note",
    ],
)
def test_harmony_finds_the_recipient_wherever_it_stands(header: str) -> None:
    text = f'{header}<|message|>{{"a":"x"}}'
    wanted: list[tuple[str, dict[str, Any]]] = [("note", {"a": "x"})]
    if header.endswith("json to=note"):  # behind the constraint it does not count
        assert made("harmony", text) == ('{"a":"x"}', "", [])
    else:
        assert made("harmony", text) == ("", "", wanted)


@pytest.mark.parametrize("name", [name for name in ALL if ALL[name].call])
def test_a_call_is_announced_only_when_it_cannot_be_withdrawn(name: str) -> None:  # case B037
    family = ALL[name]
    started = parser(name, OFF)
    for end, char in enumerate(family.call, start=1):
        if started.feed(char).calls:
            assert "x" in family.call[: end - 1], "the argument may still go on"
            return
    assert started.close().calls


@pytest.mark.parametrize("name", ["qwen3-thinking", "deepseek3", "glm-4.7", "qwen3.5"])
def test_the_first_closing_tag_that_is_not_quoted_ends_a_thought(name: str) -> None:  # case B050
    text = "The tag `</think>` ends it.</think> Yes, `</think>` does.</think>"
    thought = "The tag `</think>` ends it."
    assert made(name, text, ON) == ("Yes, `</think>` does.</think>", thought, [])


# smaller decisions of single families


def test_a_prefilled_answer_goes_on_as_content() -> None:
    last = Message("assistant", "It rains")
    assert made("cohere", " and so.<|END_TEXT|>", OFF, last=last) == (" and so.", "", [])
    assert made("harmony", " and so.", None, last=last) == (" and so.", "", [])


def test_a_prefilled_thought_of_harmony_goes_on_as_thinking() -> None:
    last = Message("assistant", "", thinking="Hm")
    assert made("harmony", ", so.<|end|>", None, last=last) == ("", ", so.", [])


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Hello there", "Hello there"),
        ('{"a":1}', '{"a":1}'),
        ("<|channel|>final to=", ""),
        ("<|channel|>final<|message|>A<|end|><|start|>assis", "A"),
        ("<|channel|>final<|message|>A<|end|><|start|>no header at all", "A<|start|>no header at all"),
        (f"<|channel|>final {'x' * 300}", f"<|channel|>final {'x' * 300}"),
        ("<|message|>A", "A"),
        ("\n<|sta", "<|sta"),
    ],
)
def test_harmony_loses_no_text_that_is_no_header(text: str, content: str) -> None:
    assert made("harmony", text)[0] == content


def test_harmony_calls_nothing_without_a_name() -> None:
    assert made("harmony", "<|channel|>commentary to=functions.<|message|>{}") == ("{}", "", [])


def test_glimmer_holds_no_long_text_without_a_header() -> None:
    text = f"{'word ' * 200}<|message|>more<|eot|>"
    assert made("glimmer", text)[0] == f"{'word ' * 200}<|message|>more"


def test_a_tag_in_a_value_of_glimmer_is_text() -> None:
    call = FAMILIES["glimmer"].call.replace(">x<", ">say <|eot|> or <|eom|><")
    assert made("glimmer", call)[2] == [("note", {"a": "say <|eot|> or <|eom|>"})]
    cut = call.removesuffix("</atem:function_calls><|eot|>")
    assert made("glimmer", cut)[2] == [("note", {"a": "say <|eot|> or <|eom|>"})]


@pytest.mark.parametrize("name", ["laguna", "poolside-v1"])
def test_a_block_opened_twice_holds_two_calls(name: str) -> None:
    text = "<tool_call>get<tool_call>note<arg_key>a</arg_key><arg_value>x</arg_value></tool_call>"
    assert made(name, text)[2] == [("get", {}), ("note", {"a": "x"})]
    value = text.replace(">x<", ">use <tool_call> now<").replace("get<tool_call>", "")
    assert made(name, value)[2] == [("note", {"a": "use <tool_call> now"})]


@pytest.mark.parametrize("name", ["laguna", "poolside-v1"])
def test_a_user_block_or_an_object_is_a_call_only_of_a_declared_tool(name: str) -> None:
    assert made(name, "<user>get_all</user>")[2] == [("get_all", {})]
    for text in ("<user>get them</user> x", "<user>other</user>", '{"name":"other","arguments":{}} x', "{x"):
        assert made(name, text) == (text, "", [])


def test_ministral_begins_anew_at_another_call() -> None:
    text = '[TOOL_CALLS]oops [TOOL_CALLS]note[ARGS]{"a":"x"}'
    assert made("ministral", text) == ("[TOOL_CALLS]oops", "", [("note", {"a": "x"})])


def test_bare_calls_of_lfm2_are_the_whole_answer() -> None:
    assert made("lfm2", "get(), note(a='x')")[2] == [("get", {}), ("note", {"a": "x"})]
    for text in ("get() is it", "[get()] x", "get(", "other()", "get()get()", "[[get()]]", "get(a<b)", "]"):
        assert made("lfm2", text) == (text, "", [])


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("b:[]", {"b": []}),
        (" a : <escape> x <escape> , b : {k:-1.5} ", {"a": " x ", "b": {"k": -1.5}}),
        ("a:null,,b:true,c", {"a": "null", "b": True}),
        ("b:[1,[2,{k:<escape>,<escape>}]]", {"b": [1, [2, {"k": ","}]]}),
        (f"b:{'[' * 80}", {"b": "[" * 80}),
    ],
)
def test_values_of_functiongemma(arguments: str, found: dict[str, Any]) -> None:
    text = f"<start_function_call>call:get{{{arguments}}}<end_function_call>"
    assert made("functiongemma", text)[2] == [("get", found)]


def test_white_space_alone_between_two_calls_of_functiongemma_is_dropped() -> None:
    call = "<start_function_call>call:get{}<end_function_call>"
    assert made("functiongemma", f"{call}\n{call}\n") == ("\n", "", [("get", {})] * 2)
    assert made("functiongemma", f"{call}\n<start_function_call>x") == (
        "\n<start_function_call>x",
        "",
        [("get", {})],
    )


# damaged calls never become other calls


@pytest.mark.parametrize("name", CODERS)
def test_an_argument_whose_tag_is_broken_is_not_left_out_of_a_call(name: str) -> None:
    text = "<tool_call>\n<function=get>\n<arameter=a>\nx\n</parameter>\n</function>\n</tool_call>"
    assert made(name, text) == (text, "", [])


@pytest.mark.parametrize("name", CODERS)
def test_a_function_that_is_opened_again_at_once_is_one(name: str) -> None:
    text = "<tool_call><function=note>\n<function=note><parameter=a>\nx\n</parameter></function></tool_call>"
    assert made(name, text) == ("", "", [("note", {"a": "x"})])


@pytest.mark.parametrize("name", ["glm-4.7", "glm-ocr"])
def test_a_block_of_glm_that_is_opened_again_holds_several_calls(name: str) -> None:
    pairs = "<arg_key>a</arg_key><arg_value>x <tool_call> y</arg_value>"
    calls = [("note", {"a": "x <tool_call> y"}), ("get", {}), ("get_all", {"a": "x <tool_call> y"})]
    text = f"<tool_call>note{pairs}\n<tool_call>get<tool_call>get_all{pairs}</tool_call>"
    assert made(name, text) == ("", "", calls)
    for broken in (text.replace("</arg_key>", "", 1), text.replace("note", "other")):
        assert made(name, broken)[2] != calls
        assert "<tool_call>" not in "".join(called for called, _ in made(name, broken)[2])


@pytest.mark.parametrize("name", ["glm-4.7", "glm-ocr", "laguna", "poolside-v1"])
def test_half_a_name_is_no_call(name: str) -> None:
    assert made(name, "<tool_call>get") == ("<tool_call>get", "", [])
    assert made(name, "<tool_call>get_all") == ("", "", [("get_all", {})])
    assert made(name, "<tool_call>get</tool_call>") == ("", "", [("get", {})])


def test_a_header_that_a_body_sticks_to_takes_no_other_message_along() -> None:
    call = '<|channel|>commentary to=functions.get <|constrain|>json{"a":"x"}'
    text = f"{call}<|end|><|start|>assistant<|channel|>final<|message|>Done."
    assert made("harmony", text) == (f"{call}Done.", "", [])
    text = " to=self Hm.<|eom|><|start|>assistant<|message|>Done.<|eot|>"
    assert made("glimmer", text) == (" to=self Hm.Done.", "", [])
