"""Calls of tools in what a model says: found in any pieces, never invented, never lost, never an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from integration.cases.place import (
    BARE,
    OUT_OF_BUDGET,
    TOOLS,
    Json,
    Place,
    deltas,
    folded,
    named,
    told,
    tool,
)

DEFINITIONS = [
    tool("now"),
    tool("roll", sides="integer"),
    tool("save", ["name"], name="string", **{"as": "string"}),
    tool("write", ["path", "body"], path="string", body="string"),
    tool("cart", item="string"),
    tool("find", pattern="string"),
]
HARMONY = (
    "{{ range .Messages }}<|start|>{{ .Role }}<|message|>{{ .Content }}<|end|>{{ end }}<|start|>assistant"
)
CODE = '/**\n * @param {x} "q"\n */\nfn main() { println!("{}\\n"); }'

Call = tuple[str, Json]


def models(here: Place) -> dict[str, Callable[[], str]]:
    """A model for every form of calls."""

    def family(name: str) -> Callable[[], str]:
        return lambda: here.model(f"m-{name}", renderer=name, parser=name)

    return {
        "tagged": lambda: here.model("tagged", template=TOOLS),
        "bare": lambda: here.model("bare-calls", template=BARE),
        "xml": family("qwen3-coder"),
        "gemma4": family("gemma4"),
        "functiongemma": family("functiongemma"),
        "harmony": lambda: here.model("m-harmony", template=HARMONY, parser="harmony"),
        "glm": family("glm-4.7"),
    }


def pieces(text: str) -> Iterator[list[str]]:
    """``text`` in pieces of 1, 2, 3, 5 and all characters."""
    for size in (1, 2, 3, 5, len(text)):
        yield [text[at : at + size] for at in range(0, len(text), size)]


def said(here: Place, model: str, output: str, end: Json | None = None, **members: Any) -> Json:
    """What a client is told of an output: the same streamed and plain, in any pieces (case B036)."""
    answers = []
    for parts in pieces(output):
        here.says([*parts, *([end] if end else [])])
        answers.append(folded(here.streamed(model, "go", tools=DEFINITIONS, **members)))
        answers.append(told(here.chat(model, "go", tools=DEFINITIONS, **members)))
    assert all(answer == answers[0] for answer in answers), answers
    return answers[0]


def json_call(name: str, arguments: str) -> str:
    return f'<tool_call>{{"name": "{name}", "arguments": {arguments}}}</tool_call>'


def xml_call(name: str, **values: str) -> str:
    parameters = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values.items())
    return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"


@pytest.mark.parametrize(
    ("form", "output", "content", "calls"),
    [
        # case B018
        *(
            pytest.param(
                form,
                '{"name":"now"}\n{"name":"roll","arguments":{"sides":6}}',
                "",
                [("now", {}), ("roll", {"sides": 6})],
                id=f"B018-{form}",
            )
            for form in ("tagged", "bare")
        ),
        # case B019
        *(
            pytest.param(form, text, text, [], id=f"B019-{form}-{number}")
            for form in ("tagged", "bare", "xml", "gemma4", "functiongemma", "harmony", "glm")
            for number, text in enumerate(
                ('Use {braces} like this: {"text": "hi"}', "if (a < b) { call(); }", "{ not json at all")
            )
        ),
        # case B020
        pytest.param(
            "tagged",
            'I will add them. <tool_call>{"name": "roll", "arguments": {"sides": 2}}</tool_call>',
            "I will add them. ",
            [("roll", {"sides": 2})],
            id="B020-tagged",
        ),
        pytest.param(
            "xml",
            f"I will add them. {xml_call('roll', sides='2')}",
            "I will add them.",
            [("roll", {"sides": 2})],
            id="B020-xml",
        ),
        # case B021
        pytest.param(
            "gemma4",
            "<|tool_call>call:save{name:<|\"|>a<|\"|>,as='memo.txt'}<tool_call|>",
            "",
            [("save", {"name": "a", "as": "memo.txt"})],
            id="B021",
        ),
        # case B025
        pytest.param(
            "xml",
            xml_call("write", path="a.xml", body="<function=demo> if a < b && c </parameter-ish>"),
            "",
            [("write", {"path": "a.xml", "body": "<function=demo> if a < b && c </parameter-ish>"})],
            id="B025",
        ),
        # case B026
        pytest.param(
            "xml",
            "<function=roll>\n<parameter=sides>\n6\n</parameter>\n</function>\n</tool_call>",
            "",
            [("roll", {"sides": 6})],
            id="B026-known",
        ),
        pytest.param(
            "xml",
            "<function=other>\n<parameter=a>\n6\n</parameter>\n</function>",
            "<function=other>\n<parameter=a>\n6\n</parameter>\n</function>",
            [],
            id="B026-unknown",
        ),
        # case B028
        pytest.param(
            "xml",
            "<function_invocation>\n<parameter=sides>6</parameter>\n</function_invocation>",
            "<function_invocation>\n<parameter=sides>6</parameter>\n</function_invocation>",
            [],
            id="B028",
        ),
        # case B031
        pytest.param(
            "xml",
            xml_call("write", path="a.rs", body=CODE),
            "",
            [("write", {"path": "a.rs", "body": CODE})],
            id="B031-xml",
        ),
        # case B035
        pytest.param(
            "harmony",
            '<|channel|>commentary to=functions.cart<|channel|>commentary <|message|>{"item":"x"}',
            "",
            [("cart", {"item": "x"})],
            id="B035",
        ),
        # case B034
        pytest.param(
            "harmony",
            '<|channel|>analysis to=functions.find code<|message|>{"pattern":"*"}',
            "",
            [("find", {"pattern": "*"})],
            id="B034",
        ),
        # case B037
        pytest.param(
            "tagged",
            '<tool_call>{"name": "ro… no, I will not',
            '<tool_call>{"name": "ro… no, I will not',
            [],
            id="B037",
        ),
    ],
)
def test_calls_are_what_they_are_and_text_is_text(
    here: Place, form: str, output: str, content: str, calls: Sequence[Call]
) -> None:
    think = False if form == "glm" else None
    found = said(here, models(here)[form](), output, think=think)
    assert (found["content"], found["calls"]) == (content, list(calls))
    assert found["thinking"] == ""


# case B027
def test_an_output_cut_off_within_a_call_is_content(here: Place) -> None:
    output = "<tool_call>\n<function=write>\n<parameter=path>\na.t"
    here.script()
    found = said(here, models(here)["xml"](), output, OUT_OF_BUDGET)
    assert (found["content"], found["calls"], found["done_reason"]) == (output, [], "length")
    assert (
        here.log().count("a tool call could not be read") == 2
    )  # of the last stream and the last plain reply


# case B029
def test_one_bad_call_does_not_take_others_along(here: Place) -> None:
    bad = "<tool_call>\n<function=roll>\n<parameter=sides\n6\n</parameter>\n</function>\n</tool_call>"
    output = f"{xml_call('now')}\n{bad}\n{xml_call('roll', sides='3')}"
    found = said(here, models(here)["xml"](), output)
    assert found["calls"] == [("now", {}), ("roll", {"sides": 3})]
    assert bad.strip() in found["content"]


# case B031
@pytest.mark.parametrize("form", ["tagged", "bare"])
def test_sloppy_json_is_text_and_no_error(here: Place, form: str) -> None:
    output = '{"name": "write", "arguments": {"path": "a", "body": "/** \n * {x} \\n */ }'
    found = said(here, models(here)[form](), output)
    assert found["calls"] or found["content"] == output


# case B030
@pytest.mark.parametrize("form", ["harmony", "xml", "tagged"])
def test_a_stream_that_breaks_off_ends_with_an_error_object(here: Place, form: str) -> None:
    model = models(here)[form]()
    error = {"error": {"code": 500, "message": "parse failed", "type": "server_error"}}
    here.script(answers={"/completion": [{"sse": [{"content": "Some text", "stop": False}, error]}]})
    last = here.streamed(model, "go", tools=DEFINITIONS)[-1]
    assert set(last) == {"error"}
    assert "parse failed" in last["error"]


# case B030
def test_a_native_stream_that_breaks_off_ends_with_an_error_object(here: Place) -> None:
    model = here.native("native")
    frames = [*deltas({"content": "Some text"})[:1], {"error": {"code": 500, "message": "parse failed"}}]
    here.script(answers={"/v1/chat/completions": [{"sse": frames}]})
    last = here.streamed(model, "go", tools=DEFINITIONS)[-1]
    assert set(last) == {"error"}
    assert "parse failed" in last["error"]


# case B043
@pytest.mark.parametrize("form", ["tagged", "xml", "gemma4", "glm"])
def test_results_out_of_order_are_matched_by_id(here: Place, form: str) -> None:
    model = models(here)[form]()
    a, b = result("alpha", "id-a"), result("beta", "id-b")
    in_order = here.prompt(model, "go", calls_of(("now", "id-a"), ("find", "id-b")), a, b, tools=DEFINITIONS)
    swapped = here.prompt(model, "go", calls_of(("now", "id-a"), ("find", "id-b")), b, a, tools=DEFINITIONS)
    assert swapped == in_order
    assert in_order.index("alpha") < in_order.index("beta")


# case B043
def test_results_out_of_order_are_matched_for_the_engine_too(here: Place) -> None:
    model = here.native("native")
    messages = [calls_of(("now", "id-a"), ("find", "id-b")), result("beta", "id-b"), result("alpha", "id-a")]
    assert here.chat(model, "go", *messages, tools=DEFINITIONS).status == 200
    sent = here.calls("/v1/chat/completions")[0]["messages"]
    assert [message["content"] for message in sent[2:]] == ["alpha", "beta"]
    assert [message["tool_call_id"] for message in sent[2:]] == ["id-a", "id-b"]


# case B044
def test_calls_have_ids_that_come_back(here: Place) -> None:
    model = models(here)["tagged"]()
    here.says([json_call("find", '{"pattern": "Oak"}') + json_call("find", '{"pattern": "Elm"}')])
    message = here.chat(model, "go", tools=DEFINITIONS).body["message"]
    oak, elm = (call["id"] for call in message["tool_calls"])
    assert oak != elm
    assert named(message) == [("find", {"pattern": "Oak"}), ("find", {"pattern": "Elm"})]
    prompt = here.prompt(
        model, "go", message, result("in Elm", elm), result("in Oak", oak), tools=DEFINITIONS
    )
    assert prompt.index("in Oak") < prompt.index("in Elm")


# case B046
def test_a_reference_in_parameters_is_resolved_before_the_template_sees_it(here: Place) -> None:
    definition = tool("search", filter={"$ref": "#/$defs/F"})
    filters = {"type": "object", "properties": {"name": {"type": "string"}, "inner": {"$ref": "#/$defs/F"}}}
    definition["function"]["parameters"]["$defs"] = {"F": filters}
    native = here.native("native")
    here.script()
    assert here.chat(native, "go", tools=[definition]).status == 200
    sent = here.calls("/v1/chat/completions")[0]["tools"][0]["function"]["parameters"]["properties"]
    assert sent["filter"]["type"] == "object"
    assert sent["filter"]["properties"]["name"] == {"type": "string"}
    assert "$ref" not in str(sent)
    for form in ("tagged", "xml", "gemma4"):
        assert "$ref" not in here.prompt(models(here)[form](), "go", tools=[definition])


def calls_of(*calls: tuple[str, str]) -> Json:
    function_calls = [{"id": id, "function": {"name": name, "arguments": {}}} for name, id in calls]
    return {"role": "assistant", "content": "", "tool_calls": function_calls}


def result(content: str, id: str) -> Json:
    return {"role": "tool", "content": content, "tool_call_id": id}
