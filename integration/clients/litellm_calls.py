"""LiteLLM over each of its ways to reach a server like this one: ``PROVIDER/MODEL``."""

from __future__ import annotations

from typing import Any

import litellm
from pydantic import BaseModel

from integration.clients.worker import serve

FIND = {
    "type": "function",
    "function": {
        "name": "find",
        "description": "Find files",
        "parameters": {
            "type": "object",
            "properties": {"pattern": {"type": "string"}, "depth": {"type": "integer"}},
            "required": ["pattern"],
        },
    },
}


class City(BaseModel):
    """What a model is asked for."""

    name: str
    people: int


def where(provider: str, address: str, model: str) -> dict[str, Any]:
    base = f"http://{address}/v1" if provider in ("openai", "text-completion-openai") else f"http://{address}"
    return {"model": f"{provider}/{model}", "api_base": base, "api_key": "none", "num_retries": 0}


def told(reply: Any) -> dict[str, Any]:
    choice, usage = reply.choices[0], reply.usage
    return {
        "text": choice.message.content or "",
        "thought": getattr(choice.message, "reasoning_content", None) or "",
        "calls": [[call.function.name, call.function.arguments] for call in choice.message.tool_calls or []],
        "end": choice.finish_reason,
        "tokens": [usage.prompt_tokens, usage.completion_tokens],
    }


def chat(provider: str, address: str, model: str, text: str = "x", **settings: Any) -> Any:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
    return told(litellm.completion(messages=messages, **where(provider, address, model), **settings))


def stream(provider: str, address: str, model: str, **settings: Any) -> Any:
    messages = [{"role": "user", "content": "x"}]
    options = {"include_usage": True}
    place = where(provider, address, model)
    parts = list(
        litellm.completion(messages=messages, stream=True, stream_options=options, **place, **settings)
    )
    return told(litellm.stream_chunk_builder(parts, messages=messages))


async def chat_async(provider: str, address: str, model: str) -> Any:
    messages = [{"role": "user", "content": "x"}]
    place = where(provider, address, model)
    parts = await litellm.acompletion(messages=messages, stream=True, **place)
    streamed = [part.choices[0].delta.content or "" async for part in parts]
    return [told(await litellm.acompletion(messages=messages, **place))["text"], "".join(streamed)]


def use_tool(provider: str, address: str, model: str) -> Any:
    messages: list[Any] = [{"role": "user", "content": "Which files?"}]
    place = where(provider, address, model)
    reply = litellm.completion(messages=messages, tools=[FIND], **place)
    said = reply.choices[0].message
    messages.append(said.model_dump())
    messages += [
        {"role": "tool", "tool_call_id": call.id, "name": call.function.name, "content": "a.txt"}
        for call in said.tool_calls
    ]
    return [told(reply), told(litellm.completion(messages=messages, tools=[FIND], **place))]


def stream_calls(provider: str, address: str, model: str) -> Any:
    return stream(provider, address, model, tools=[FIND])


def structured(provider: str, address: str, model: str, **settings: Any) -> Any:
    return chat(provider, address, model, response_format=City, **settings)["text"]


def complete(address: str, model: str) -> Any:
    reply = litellm.text_completion(prompt="Count", **where("text-completion-openai", address, model))
    return reply.choices[0].text


def respond(address: str, model: str) -> Any:
    reply = litellm.responses(input="x", **where("openai", address, model))
    return [reply.output[-1].content[0].text, reply.usage.output_tokens]


def embed(provider: str, address: str, model: str, texts: list[str]) -> Any:
    reply = litellm.embedding(
        input=texts, encoding_format="float", drop_params=True, **where(provider, address, model)
    )
    return [entry["embedding"] for entry in reply.data]


def facts(address: str, model: str) -> Any:
    """What the library finds out about a model by asking the server."""
    found = litellm.get_model_info(f"ollama/{model}", api_base=f"http://{address}")
    return {name: found.get(name) for name in ("max_input_tokens", "supports_function_calling")}


if __name__ == "__main__":
    serve(
        {
            call.__name__: call
            for call in (
                chat,
                stream,
                chat_async,
                use_tool,
                stream_calls,
                structured,
                complete,
                respond,
                embed,
                facts,
            )  # fmt: skip
        }
    )
