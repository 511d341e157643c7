"""Calls as nested tags, in the form of Qwen3-Coder that other families took over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchestrator.domain import prompt_json
from orchestrator.domain.chunks import ToolCall

_HOW_TO_CALL = """\
If you choose to call a function ONLY reply in the following format with NO suffix:

<tool_call>
<function=example_function_name>
<parameter=example_parameter_1>
value_1
</parameter>
<parameter=example_parameter_2>
This is the value for the second parameter
that can span
multiple lines
</parameter>
</function>
</tool_call>

<IMPORTANT>
Reminder:
- Function calls MUST follow the specified format: an inner <function=...></function> block must be nested \
within <tool_call></tool_call> XML tags
- Required parameters MUST be specified
- You may provide optional reasoning for your function call in natural language BEFORE the function call, \
but NOT after
- If there is no function call available, answer the question like normal with your current knowledge \
and do not tell the user about function calls
</IMPORTANT>"""


def tools_section(listed: str) -> str:
    """What the system turn says of tools; each of those ``listed`` begins with a line break."""
    return (
        "# Tools\n\nYou have access to the following functions:\n\n"
        f"<tools>{listed}\n</tools>\n\n{_HOW_TO_CALL}"
    )


def value_text(value: Any) -> str:
    """An argument: lists and objects as JSON, the rest as plain text."""
    if isinstance(value, dict | list):
        return prompt_json.compact(prompt_json.sorted_keys(value))
    return prompt_json.scalar(value)


def call_text(call: ToolCall, write: Callable[[Any], str] = value_text) -> str:
    """One call between ``<tool_call>`` tags, without a line break at the end."""
    parameters = "".join(
        f"<parameter={name}>\n{write(value)}\n</parameter>\n" for name, value in call.arguments.items()
    )
    return f"<tool_call>\n<function={call.name}>\n{parameters}</function>\n</tool_call>"
