"""The package ``llm`` with its plugin for Ollama; models are called ``ollama/NAME``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import llm
from pydantic import BaseModel

from integration.clients.worker import serve


class City(BaseModel):
    """What a model is asked for."""

    name: str
    people: int


def find(pattern: str, depth: int = 1) -> str:
    """Find files."""
    return f"{pattern} at {depth}: a.txt"


def chosen(address: str, model: str) -> Any:
    os.environ["OLLAMA_HOST"] = address
    return llm.get_model(f"ollama/{model}:latest")


def models(address: str) -> Any:
    os.environ["OLLAMA_HOST"] = address
    found = [model.model_id for model in llm.get_models()]
    vectors = [model.model_id for model in llm.get_embedding_models()]
    return [[name for name in names if name.startswith("ollama/")] for names in (found, vectors)]


def prompt(address: str, model: str, text: str, *, stream: bool, **options: Any) -> Any:
    reply = chosen(address, model).prompt(text, system="Be brief.", stream=stream, **options)
    pieces = list(reply)
    usage = reply.usage()
    return {"text": "".join(pieces), "tokens": [usage.input, usage.output]}


async def prompt_async(address: str, model: str, text: str) -> Any:
    os.environ["OLLAMA_HOST"] = address
    reply = llm.get_async_model(f"ollama/{model}:latest").prompt(text)
    return "".join([piece async for piece in reply])


def converse(address: str, model: str, texts: list[str]) -> Any:
    conversation = chosen(address, model).conversation()
    return [conversation.prompt(text).text() for text in texts]


def use_tool(address: str, model: str) -> Any:
    """The whole chain: ask, call, answer with the result, ask again."""
    chain = chosen(address, model).chain("Which files?", tools=[find])
    return [response.text() for response in chain.responses()]


def structured(address: str, model: str) -> Any:
    return json.loads(chosen(address, model).prompt("Paris?", schema=City).text())


def embed(address: str, model: str, texts: list[str]) -> Any:
    os.environ["OLLAMA_HOST"] = address
    vectors = llm.get_embedding_model(f"ollama/{model}:latest").embed_multi(texts)
    return [list(vector) for vector in vectors]


def command(address: str, arguments: list[str]) -> Any:
    """What the command line prints."""
    program = Path(sys.executable).with_name("llm")
    done = subprocess.run(
        [program, *arguments],
        env=os.environ | {"OLLAMA_HOST": address},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return [done.returncode, done.stdout, done.stderr]


if __name__ == "__main__":
    serve(
        {
            call.__name__: call
            for call in (
                models,
                prompt,
                prompt_async,
                converse,
                use_tool,
                structured,
                embed,
                command,
            )  # fmt: skip
        }
    )
