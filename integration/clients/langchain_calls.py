"""LangChain: its Ollama package and its OpenAI package, in the same words."""

from __future__ import annotations

from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_ollama import ChatOllama, OllamaEmbeddings, OllamaLLM
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel, Field

from integration.clients.worker import serve


class City(BaseModel):
    """A city."""

    name: str = Field(description="What it is called")
    people: int


@tool  # type: ignore[untyped-decorator]
def find(pattern: str, depth: int = 1) -> str:
    """Find files."""
    return f"{pattern} at {depth}: a.txt"


def chat_model(package: str, address: str, model: str, **settings: Any) -> BaseChatModel:
    if package == "ollama":
        return ChatOllama(base_url=f"http://{address}", model=model, **settings)
    if package == "responses":
        settings |= {"use_responses_api": True}
    return ChatOpenAI(
        base_url=f"http://{address}/v1",
        model=model,
        api_key="none",
        max_retries=0,
        **settings,
    )


def told(reply: Any) -> dict[str, Any]:
    """What of a reply a program would look at."""
    usage = reply.usage_metadata or {}
    facts = reply.response_metadata
    return {
        "text": reply.text if isinstance(reply.text, str) else reply.text(),
        "thought": thought(reply),
        "calls": [[call["name"], call["args"]] for call in reply.tool_calls],
        "tokens": [usage.get("input_tokens"), usage.get("output_tokens")],
        "end": facts.get("done_reason") or facts.get("finish_reason") or facts.get("status"),
    }


def thought(reply: Any) -> str:
    blocks = [block for block in reply.content_blocks if block["type"] == "reasoning"]
    return "".join(block.get("reasoning", "") for block in blocks)


def chat(package: str, address: str, model: str, text: str = "x", **settings: Any) -> Any:
    messages = [SystemMessage("Be brief."), HumanMessage(text)]
    return told(chat_model(package, address, model, **settings).invoke(messages))


def stream(package: str, address: str, model: str, text: str = "x", **settings: Any) -> Any:
    if package == "openai":
        settings |= {"stream_usage": True}
    pieces = list(chat_model(package, address, model, **settings).stream(text))
    whole = pieces[0]
    for piece in pieces[1:]:
        whole += piece
    return told(whole) | {"pieces": [piece.text for piece in pieces if piece.text]}


async def chat_async(package: str, address: str, model: str, text: str = "x", **settings: Any) -> Any:
    model_ = chat_model(package, address, model, **settings)
    whole = await model_.ainvoke(text)
    pieces = [piece async for piece in model_.astream(text)]
    return [whole.text, "".join(piece.text for piece in pieces)]


def use_tool(package: str, address: str, model: str, **settings: Any) -> Any:
    """Ask, call, answer with the result, ask again."""
    chat = chat_model(package, address, model, **settings).bind_tools([find])
    messages: list[Any] = [HumanMessage("Which files?")]
    reply = chat.invoke(messages)
    assert isinstance(reply, AIMessage)
    results = [find.invoke(call) for call in reply.tool_calls]
    assert all(isinstance(result, ToolMessage) for result in results)
    return [told(reply), told(chat.invoke([*messages, reply, *results]))]


def stream_calls(package: str, address: str, model: str) -> Any:
    chat = chat_model(package, address, model).bind_tools([find])
    pieces = list(chat.stream("Which files?"))
    whole = pieces[0]
    for piece in pieces[1:]:
        whole += piece
    return told(whole)


def force_tool(package: str, address: str, model: str, choice: str) -> Any:
    return told(chat_model(package, address, model).bind_tools([find], tool_choice=choice).invoke("x"))


def structured(package: str, address: str, model: str, method: str, **settings: Any) -> Any:
    chat = chat_model(package, address, model, **settings)
    city = chat.with_structured_output(City, method=method).invoke("Paris?")
    assert isinstance(city, City)
    return city.model_dump()


def image(package: str, address: str, model: str, data: str) -> Any:
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "base64": data, "mime_type": "image/png"},
    ]
    return told(chat_model(package, address, model).invoke([HumanMessage(content=parts)]))


def complete(address: str, model: str, text: str, **settings: Any) -> Any:
    llm = OllamaLLM(base_url=f"http://{address}", model=model, **settings)
    return [llm.invoke(text), "".join(llm.stream(text))]


def log_probabilities(address: str, model: str) -> Any:
    chat = chat_model("openai", address, model, logprobs=True, top_logprobs=2, max_tokens=3, temperature=0)
    reply = chat.invoke("x")
    return [len(entry["top_logprobs"]) for entry in reply.response_metadata["logprobs"]["content"]]


def embed(package: str, address: str, model: str, texts: list[str]) -> Any:
    embeddings: Embeddings
    if package == "ollama":
        embeddings = OllamaEmbeddings(base_url=f"http://{address}", model=model)
    else:
        embeddings = OpenAIEmbeddings(
            base_url=f"http://{address}/v1",
            model=model,
            api_key="none",
            check_embedding_ctx_length=False,  # else it sends tokens of another tokenizer
        )
    return [embeddings.embed_query(texts[0]), embeddings.embed_documents(texts)]


def check_model(address: str, model: str) -> Any:
    """Whether the package finds the model in the list before it asks it anything."""
    return chat_model("ollama", address, model, validate_model_on_init=True) is not None


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
                force_tool,
                structured,
                image,
                complete,
                log_probabilities,
                embed,
                check_model,
            )  # fmt: skip
        }
    )
