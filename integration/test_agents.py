"""Coding agents, unchanged: each is asked for a file and comes through a whole turn of calls to its end.

The model is a script: it calls the agent's own tool, reads the result and says that it is done. The agents
can reach nothing but the daemon.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from integration.cases.place import TOOLS, Place, completion, place
from integration.confined import PORT, run_confined

pytestmark = pytest.mark.timeout(240)

MODEL = "coder:latest"
TASK = "Write the word owl into owl.txt"
ADDRESS = f"http://127.0.0.1:{PORT}"
PACKAGES = Path(__file__).parent / "agents/node_modules"
PATIENCE_S = 90

CODEX_SETTINGS = f"""
model = "{MODEL}"
model_provider = "orch"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.orch]
name = "orch"
base_url = "{ADDRESS}/v1"
wire_api = "responses"
"""
OPENCODE_SETTINGS = json.dumps(
    {
        "model": f"orch/{MODEL}",
        "small_model": f"orch/{MODEL}",
        "autoupdate": False,
        "share": "disabled",
        "permission": {"*": "allow"},
        "provider": {
            "orch": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": f"{ADDRESS}/v1"},
                "models": {MODEL: {"tool_call": True, "limit": {"context": 131072, "output": 8192}}},
            }
        },
    }
)


@dataclass(frozen=True, kw_only=True)
class Agent:
    """One agent, told to do its task without asking back."""

    program: str
    """Where its program is among the packages; names of platforms are patterns."""
    arguments: Sequence[str]
    tool: str
    """Its own tool that makes the file."""
    tool_arguments: Callable[[Path], Mapping[str, Any]]
    result: str
    """What of the tool's result the model must see."""
    path: str
    """The route that it asks."""
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    """Files of its home."""


def _by_shell(file: Path) -> Mapping[str, Any]:
    return {"cmd": f"printf owl > {file} && echo made it"}


CODEX = Agent(
    program="@openai/codex-*/vendor/*/bin/codex",
    arguments=("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--json", TASK),
    tool="exec_command",
    tool_arguments=_by_shell,
    result="made it",
    path="/v1/responses",
    settings={".codex/config.toml": CODEX_SETTINGS},
)
AGENTS = {
    "codex": CODEX,
    "codex --oss": Agent(
        program=CODEX.program,
        arguments=(*CODEX.arguments[:-1], "--oss", "--local-provider", "ollama", "-m", MODEL, TASK),
        tool="exec_command",
        tool_arguments=_by_shell,
        result="made it",
        path="/v1/responses",
    ),
    "claude": Agent(
        program="@anthropic-ai/claude-code-*/claude",
        arguments=("-p", TASK, "--output-format", "json", "--allowedTools", "Write"),
        tool="Write",
        tool_arguments=lambda file: {"file_path": str(file), "content": "owl"},
        result="created successfully",
        path="/v1/messages",
        environment={
            "ANTHROPIC_BASE_URL": ADDRESS,
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_MODEL": MODEL,
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": MODEL,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
        },
    ),
    "opencode": Agent(
        program="opencode-*/bin/opencode",
        arguments=("run", "--title", "owl", "--format", "json", TASK),
        tool="write",
        tool_arguments=lambda file: {"filePath": str(file), "content": "owl"},
        result="Wrote file successfully",
        path="/v1/chat/completions",
        environment={
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        settings={".config/opencode/opencode.json": OPENCODE_SETTINGS},
    ),
}


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A daemon over a scripted engine, with a model that has room for the long prompts of agents."""
    with place(tmp_path_factory.mktemp("place")) as here:
        room = 131072
        here.model(
            MODEL,
            template=TOOLS,
            metadata={"llama.context_length": room},
            parameters={"num_ctx": room},
        )
        yield here


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_does_its_task(scripted: Place, tmp_path: Path, name: str) -> None:
    agent = AGENTS[name]
    program = next(PACKAGES.glob(agent.program), None)
    if program is None:
        pytest.skip(f"{name} is not installed: make clients (needs npm)")
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    for file, text in agent.settings.items():
        (home / file).parent.mkdir(parents=True)
        (home / file).write_text(text)
    call = json.dumps({"name": agent.tool, "arguments": agent.tool_arguments(work / "owl.txt")})
    replies = (["I will. ", f"<tool_call>{call}</tool_call>"], ["It is", " done."])
    scripted.script(answers={"/completion": [{"sse": list(completion(reply))} for reply in replies]})

    done = run_confined(
        [str(program), *agent.arguments],
        scripted.server,
        folder=work,
        environment={"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb", **agent.environment},
        timeout_s=PATIENCE_S,
    )

    assert done.returncode == 0, done
    assert (work / "owl.txt").read_text().strip() == "owl"
    assert "It is done." in done.stdout
    first, second = scripted.calls("/completion")
    assert TASK in first["prompt"]
    assert agent.result in second["prompt"].rpartition("<|tool|>")[2]
    log = scripted.log()
    assert log.count(f"path={agent.path} status=200") >= 2
    assert "left out" not in log
