"""The template language: what is refused, what fails, what comes out."""

from __future__ import annotations

from base64 import b64decode
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import parse_tools
from orchestrator.templates.errors import TemplateExecutionError, TemplateSyntaxError
from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.templates.known import known
from orchestrator.templates.prompt import render_chat
from orchestrator.templates.tags import inferred_thinking_tags
from tests import prompt_records
from tests.golden_records import Record, records

MESSAGES = (
    Message("system", "Be brief."),
    Message("user", "Hi"),
    Message("assistant", tool_calls=(ToolCall("look", {"n": 1}, id="c1"),)),
    Message("tool", "ok", tool_name="look"),
)
LOOK = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look at a picture",
        "parameters": {
            "type": "object",
            "required": ["n"],
            "properties": {"n": {"type": "integer", "description": "Which one"}},
        },
    },
}


def text_of(record: Record, name: str) -> str | None:
    if f"{name}_b64" in record:
        return b64decode(record[f"{name}_b64"]).decode("utf-8", "surrogateescape")
    text: str | None = record.get(name)
    return text


@pytest.mark.parametrize(
    "record", [pytest.param(record, id=record["id"]) for record in records("prompts/bad-templates.jsonl")]
)
def test_a_template_fails_at_the_recorded_stage_or_not_at_all(record: Record) -> None:
    text = text_of(record, "text")
    assert text is not None
    if record["parse_error"] is not None:
        with pytest.raises(TemplateSyntaxError):
            GoTemplate.parse(text)
        return
    template = GoTemplate.parse(text)
    if record["execute_error"] is not None:
        with pytest.raises(TemplateExecutionError):
            render_chat(template, MESSAGES, parse_tools([LOOK]), Think(True))
        return
    assert render_chat(template, MESSAGES, parse_tools([LOOK]), Think(True)) == text_of(record, "output")


def variables_cases() -> list[Record]:
    return [record for record in records("prompts/detect.jsonl") if record["id"].startswith("vars/")]


@pytest.mark.parametrize("record", [pytest.param(record, id=record["id"]) for record in variables_cases()])
def test_variables_and_thinking_tags_are_found(record: Record) -> None:
    text = record.get("text")
    if text is None:
        name = record["template"]
        text = prompt_records.template_text(name) or known(name).text
    if "error" in record:
        with pytest.raises(TemplateSyntaxError):
            GoTemplate.parse(text)
        return
    template = GoTemplate.parse(text)
    assert sorted(template.variables) == record["vars"]
    assert inferred_thinking_tags(template) == (record["thinking_open"], record["thinking_close"])


MEGABYTES = Message("system", "é" * 2_000_000)
CROWD = (MEGABYTES, *(Message("user" if i % 2 else "assistant", "hello") for i in range(200)))

HOSTILE = {
    "a long range": "{{ range 1000000000 }}{{ end }}",
    "ranges in ranges": "{{ range 100000 }}{{ range 100000 }}x{{ end }}{{ end }}",
    "much text": "{{ range 100000000 }}" + "x" * 100 + "{{ end }}",
    "a text that doubles": '{{ $x := "aaaa" }}{{ range 60 }}{{ $x = print $x $x }}{{ end }}{{ $x }}',
    "a wide number": '{{ range 100000 }}{{ $x := printf "%999999d" 1 }}{{ end }}',
    "templates without end": '{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}',
    "JSON of everything": "{{ range 1000000 }}{{ $x := json $.Messages }}{{ end }}{{ .Messages }}",
    "bytes counted again and again": "{{ range 1000000 }}{{ $x := len $.System }}{{ end }}{{ .Messages }}",
    "copies of the messages": "{{ range 1000000 }}{{ $x := slice $.Messages 0 }}{{ end }}",
    "the root written often": "{{ .Messages }}{{ range 1000 }}{{ $ }}{{ end }}",
}  # fmt: skip


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in HOSTILE.items()])
def test_a_template_that_wants_too_much_is_stopped(text: str) -> None:
    with pytest.raises(TemplateExecutionError, match=r"too many steps|too long|depth"):
        render_chat(GoTemplate.parse(text), CROWD)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", id="parentheses"),
        pytest.param("{{ if true }}" * 3000, id="blocks"),
        pytest.param("{{ if 0 }}a" + "{{ else if 0 }}b" * 2000 + "{{ end }}", id="else if"),
        pytest.param("{{.}}" * 100_000, id="actions"),
    ],
)
def test_a_template_of_absurd_size_is_refused(text: str) -> None:
    with pytest.raises(TemplateSyntaxError, match="nested too deeply|too long"):
        GoTemplate.parse(text)


@pytest.mark.parametrize(
    ("text", "output"),
    [
        # numbers and their spellings
        ("{{ 017 }} {{ 0xff }} {{ 0b11 }} {{ 1_000 }} {{ +5 }}", "15 255 3 1000 5"),
        ("{{ 1e3 }} {{ .5 }} {{ 0x1p4 }}", "1000 0.5 16"),
        ("{{ 1_0.0_5 }} {{ 1e1_0 }} {{ 0x_1_0p1 }} {{ -0.0 }}", "10.05 1e+10 32 -0"),
        ("{{ 'a' }} {{ '\\n' }} {{ '\\'' }} {{ 'é' }}", "97 10 39 233"),
        # strings
        (r'{{ "\u00e9\x41\101\t" }}{{ `a\n` }}', "éAA\ta\\n"),
        ('{{ len "é" }}{{ index "é" 0 }}{{ slice "aéb" 0 3 }}', "2195aé"),
        # variables
        ("{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x = 3 }}{{ $x }}{{ end }}{{ $x }}", "31"),
        ("{{ $x := 1 }}{{ range 3 }}{{ $x = . }}{{ end }}{{ $x }}", "2"),
        ("{{ range $i, $x := .Messages }}{{ $i }}{{ $x.Role }},{{ end }}", "0system,1user,2assistant,3tool,"),
        ("{{ with $x := 5 }}{{ $x }}{{ . }}{{ end }}", "55"),
        # what is not there
        ("{{ .Nope }}|{{ print .Nope }}|{{ printf `%v` .Nope }}", "<no value>|<nil>|<nil>"),
        ("{{ json .Nope }}", "null"),
        ("{{ $x := .Nope }}{{ $x.Deeper }}", "<no value>"),
        ("{{ range .Nope }}a{{ else }}b{{ end }}{{ if .Nope }}a{{ else }}b{{ end }}", "bb"),
        ("{{ eq .Nope nil }} {{ eq .Nope 1 }} {{ ne .Nope .Nope }}", "true false false"),
        ("{{ len (index .Messages 0).ToolCalls }}{{ json (index .Messages 0).ToolCalls }}", "0null"),
        # functions
        ("{{ and 1 0 2 }}{{ or 0 2 3 }}{{ not 0 }}", "02true"),
        ("{{ or 1 (index .Messages 99) }}", "1"),
        ("{{ 1 | eq 1 }} {{ 3 | lt 2 }} {{ `x` | printf `%s-%s` `y` }}", "true true y-x"),
        ('{{ print 1 2 "a" 3 "b" "c" }}', "1 2a3bc"),
        ("{{ println 1 `a` }}", "1 a\n"),
        ("{{ html nil 1 nil }}|{{ js .Nope }}|{{ urlquery .Nope }}",
         "&lt;no value&gt;1&lt;no value&gt;|\\u003Cno value\\u003E|%3Cno+value%3E"),
        (r'{{ js "\x7f\x00" }}{{ json "\xff" }}', "\x7f\\u0000\"\\ufffd\""),
        ("{{ with index .Messages 1 }}{{ . }}{{ print . }}{{ html . }}{{ end }}",
         "{user Hi  [] []  }&{user Hi  [] []  }{user Hi  [] []  }"),
        ("{{ with index .Messages 1 }}{{ eq . . }}{{ eq . (index $.Messages 0) }}{{ end }}", "truefalse"),
        ("{{ with (index .Messages 1).ToolCalls }}{{ else }}{{ $c := (index .Messages 1).ToolCalls }}"
         "{{ eq $c nil $c }}{{ eq $c (index .Messages 2).ToolCalls }}{{ end }}", "truefalse"),
        # flow
        ("{{ range 5 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ . }}{{ end }}", "0234"),
        ("{{ range 5 }}{{ if eq . 3 }}{{ break }}{{ end }}{{ . }}{{ end }}", "012"),
        ('{{ define "a" }}[{{ . }}]{{ end }}{{ template "a" 1 }}', "[1]"),
        ('{{ block "b" 2 }}<{{ . }}>{{ end }}', "<2>"),
        ("a {{- /* note */ -}} b{{/* another */}} c", "ab c"),
        ("{{ if false }}a{{ else if true }}b{{ else }}c{{ end }}", "b"),
        ("{{ with 0 }}a{{ else with 7 }}{{ . }}{{ end }}", "7"),
        ("{{ range 2 }}{{ range 0 }}{{ else }}{{ break }}{{ end }}x{{ end }}", "xx"),
        ("{{ range 2 }}{{ range 0 }}{{ else }}{{ continue }}{{ end }}x{{ end }}", ""),
        # printing
        (
            "{{ range .Tools }}{{ .Function }}{{ end }}",
            '{"name":"look","description":"Look at a picture","parameters":{"type":"object","required":["n"],'
            '"properties":{"n":{"type":"integer","description":"Which one"}}}}',
        ),
        ("{{ (index (index .Messages 2).ToolCalls 0).Function }}", '{"name":"look","arguments":{"n":1}}'),
        ("{{ (index .Tools 0).Function.Parameters.Properties.n.Type }}", "integer"),
        ("{{ slice .Tools 1 }}{{ slice .Messages 4 }}", "[][]"),
    ],
)  # fmt: skip
def test_go_gives(text: str, output: str) -> None:
    template = GoTemplate.parse(text + "{{ range .Messages }}{{ end }}")
    assert render_chat(template, MESSAGES, parse_tools([LOOK])) == output


@pytest.mark.parametrize(
    ("call", "output"),
    [
        ('"%5d|%-5d|%05d|%+d" 42 42 42 42', "   42|42   |00042|+42"),
        ('"%x|%X|%o|%b|%c|%U|%#x" 255 255 8 5 65 233 255', "ff|FF|10|101|A|U+00E9|0xff"),
        ('"%6.2f|%e|%g|%G" 3.14159 1234.5 0.00001 1e21', "  3.14|1.234500e+03|1e-05|1E+21"),
        ('"%s|%q|%.2s|%6s|%-6s|%x" "a" "b\\n" "abc" "ab" "ab" "hi"', 'a|"b\\n"|ab|    ab|ab    |6869'),
        ('"%t|%v|%v|%v" true nil 1.5 "s"', "true|<nil>|1.5|s"),
        ('"%d" "x"', "%!d(string=x)"),
        ('"%s" 5', "%!s(int=5)"),
        ('"%s %s" "a"', "a %!s(MISSING)"),
        ('"a" 1 "b"', "a%!(EXTRA int=1, string=b)"),
        ('"100%%"', "100%"),
        ('"%"', "%!(NOVERB)"),
        ('"%*d|%[2]d %[1]d" 5 1', "    1|1 5"),
        ('"%q %q" 65 "é\\x01"', "'A' \"é\\x01\""),
        ('"%v %s" (slice .Messages 4) "x"', "[] x"),
        ('"%05s|%05t|%05q|%05c|%08U|%05.1d" "a" true "b" 99 99 7', '0000a|0true|00"b"|0000c|  U+0063|    7'),
        ('"%6d|%.1d|%6s" "ab" "ab" 5', "%!d(string=    ab)|%!d(string=a)|%!s(int=     5)"),
        ('"%#x|%# x|% X|%#X" "ab" "ab" "ab" ""', "0x6162|0x61 0x62|61 62|"),
        ('"%.2T|%5T|%g|%U" "a" 1 -0.0 -1', "st|  int|-0|U+FFFFFFFFFFFFFFFF"),
        (
            '"%s %q" (index .Messages 1) (index .Messages 1)',
            '&{user Hi  [] []  } &{"user" "Hi" "" [] [] "" ""}',
        ),
        (
            '"%+v" (index .Messages 1)',
            "&{Role:user Content:Hi Thinking: Images:[] ToolCalls:[] ToolName: ToolCallID:}",
        ),
        ('"%v|%s|%3v" (index (index .Messages 2).ToolCalls 0).Function.Arguments "a" "b"', '{"n":1}|a|  b'),
        ('"%+v|%+d|%+v" 5 5 1.5', "5|+5|1.5"),
        ('"%d" (index (index .Messages 2).ToolCalls 0).Function.Arguments', "map[%!d(string=n):1]"),
    ],
)
def test_printf_writes(call: str, output: str) -> None:
    template = GoTemplate.parse("{{ printf " + call + " }}{{ range .Messages }}{{ end }}")
    assert render_chat(template, MESSAGES) == output


@pytest.mark.parametrize(
    "text",
    [
        "{{ eq (index .Messages 1).ToolCalls `a` }}",
        "{{ ne false (index .Messages 1).Images }}",
        "{{ eq (index .Messages 0) `a` }}",
        "{{ with (index .Messages 2).ToolCalls }}{{ eq (index . 0) (index . 0) }}{{ end }}",
        "{{ with (index .Messages 2).ToolCalls }}{{ eq $.Tools (index . 0).Function.Arguments }}{{ end }}",
    ],
)
def test_what_cannot_be_compared_is_an_error(text: str) -> None:
    with pytest.raises(TemplateExecutionError, match="compar"):
        render_chat(GoTemplate.parse(text), MESSAGES, ())


@pytest.mark.parametrize(
    "text",
    ["0x1p2000", "1e400", "1_.5", "1._5", "1e_1", "1_e1", "0x1_p1", "0x_.8p1", "'ab'", r"'\xc3\xa9'", "''"],
)
def test_a_constant_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(TemplateSyntaxError):
        GoTemplate.parse(f"{{{{ {text} }}}}")


def test_a_template_is_parsed_once() -> None:
    assert GoTemplate.parse("{{ .Prompt }}") is GoTemplate.parse("{{ .Prompt }}")


def test_messages_are_seen_in_parentheses() -> None:
    template = GoTemplate.parse("{{ (index .Messages 1).Content }}")
    assert "messages" not in template.variables
    assert render_chat(template, MESSAGES) == "Hi"


PIECES = st.sampled_from(
    ["{{", "}}", "{{-", "-}}", " ", "\n", "text", ".Messages", ".Role", "$", "$x", ":=", "=", "|", "(", ")"]
    + ["if", "else", "end", "range", "with", "define", "template", "block", "break", '"a"', "`b`", "1", "2.5"]
    + [
        "len",
        "index",
        "slice",
        "printf",
        "eq",
        "and",
        "json",
        "nil",
        "true",
        "/*",
        "*/",
        ",",
        "'c'",
        "\udcff",
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_text_is_a_template_or_refused(text: str) -> None:
    try:
        template = GoTemplate.parse(text)
    except TemplateSyntaxError:
        return
    with suppress(TemplateExecutionError):
        render_chat(template, MESSAGES, parse_tools([LOOK]), Think(True))


ACTIONS = st.sampled_from(
    [
        "{{ .System }}",
        "{{ range .Messages }}",
        "{{ with .Tools }}",
        "{{ if .Think }}",
        "{{ else }}",
        "{{ end }}",
    ]
    + ["{{ . }}", "{{ json . }}", "{{ $x := . }}", "{{ len . }}", "{{ .Response }}", "{{ .Role }}", "text"]
    + [
        "{{ range $i, $m := .Messages }}",
        "{{ $i }}",
        "{{ break }}",
        "{{ index . 0 }}",
        '{{ printf "%d %q" . 1 }}',
    ]
)


@given(st.lists(ACTIONS, max_size=15).map("".join))
def test_any_template_writes_something_or_fails(text: str) -> None:
    try:
        template = GoTemplate.parse(text)
    except TemplateSyntaxError:
        return
    with suppress(TemplateExecutionError):
        assert isinstance(render_chat(template, MESSAGES, parse_tools([LOOK])), str)
        assert isinstance(template.cut.execute({"Response": "r"}), str)
