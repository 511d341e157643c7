#!/usr/bin/env python3
"""A stand-in llama-server that answers at once and streams as fast as the reader takes it.

Used to measure what a daemon itself costs per token. Takes llama-server's arguments (only --host, --port
matter) and listens on TCP or, when --host ends in .sock, on a Unix socket.
FIREHOSE_TOKENS sets the default reply length.
"""

import asyncio
import json
import os
import sys

args = sys.argv[1:]


def opt(name, default=None):
    return args[args.index(name) + 1] if name in args else default


if "--version" in args:
    print("version: 11434 (pin)\nbuilt with firehose", file=sys.stderr)
    sys.exit(0)
if "--list-devices" in args:
    print("Available devices:")
    sys.exit(0)
HOST, PORT = opt("--host", "127.0.0.1"), int(opt("--port", "8080"))
DEFAULT = int(os.environ.get("FIREHOSE_TOKENS", "2000"))
WORDS = [" the", " quick", " brown", " fox", " jumps", " over", " a", " lazy", " dog", ".\n"]
TIMINGS = {
    "cache_n": 0,
    "prompt_n": 12,
    "prompt_ms": 1.0,
    "prompt_per_token_ms": 0.1,
    "prompt_per_second": 12000.0,
    "predicted_n": 10,
    "predicted_ms": 10.0,
    "predicted_per_token_ms": 0.1,
    "predicted_per_second": 10000.0,
}


def sse(o):
    return b"data: " + json.dumps(o, separators=(",", ":")).encode() + b"\n\n"


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


COMPLETION = [
    chunk(
        sse(
            {
                "index": 0,
                "content": w,
                "tokens": [i],
                "stop": False,
                "id_slot": 0,
                "tokens_predicted": i + 1,
                "tokens_evaluated": 12,
            }
        )
    )
    for i, w in enumerate(WORDS)
]
CHAT = [
    chunk(
        sse(
            {
                "choices": [{"finish_reason": None, "index": 0, "delta": {"content": w}}],
                "created": 1,
                "id": "chatcmpl-x",
                "model": "m",
                "system_fingerprint": "b11434",
                "object": "chat.completion.chunk",
            }
        )
    )
    for w in WORDS
]


async def reply(w, status, body, ctype="application/json"):
    b = body if isinstance(body, bytes) else json.dumps(body).encode()
    w.write(
        b"HTTP/1.1 %d OK\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: keep-alive\r\n\r\n"
        % (status, ctype.encode(), len(b))
        + b
    )
    await w.drain()


async def stream(w, parts, n, tail):
    w.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    ten = b"".join(parts)
    for _ in range(n // 10):
        w.write(ten)
        await w.drain()
    for t in tail:
        w.write(chunk(sse(t)) if not isinstance(t, bytes) else chunk(t))
    w.write(b"0\r\n\r\n")
    await w.drain()


async def handle(r, w):
    try:
        while True:
            head = await r.readuntil(b"\r\n\r\n")
            line, *hs = head.decode().split("\r\n")
            method, path, _ = line.split(" ", 2)
            length = next((int(h.split(":")[1]) for h in hs if h.lower().startswith("content-length:")), 0)
            if any(h.lower().startswith("transfer-encoding:") for h in hs):
                data = b""
                while True:
                    size = int((await r.readline()).strip(), 16)
                    data += await r.readexactly(size)
                    await r.readexactly(2)
                    if size == 0:
                        break
            else:
                data = await r.readexactly(length) if length else b"{}"
            path = path.split("?")[0]
            q = json.loads(data or b"{}") if method == "POST" else {}
            n = q.get("n_predict", q.get("max_tokens", q.get("max_completion_tokens"))) or 0
            n = n if 0 < n < 1_000_000 else DEFAULT
            n -= n % 10
            if path in ("/health", "/v1/health"):
                await reply(w, 200, {"status": "ok"})
            elif path == "/props":
                await reply(
                    w,
                    200,
                    {
                        "default_generation_settings": {"n_ctx": 4096, "params": {}},
                        "total_slots": 16,
                        "model_path": "x",
                        "chat_template": "",
                        "bos_token": "<|im_start|>",
                        "eos_token": "<|im_end|>",
                        "build_info": "b11434-pin",
                        "modalities": {"vision": False, "audio": False},
                        "chat_template_caps": {},
                    },
                )
            elif path == "/tokenize":
                await reply(w, 200, {"tokens": list(range(max(1, len(str(q.get("content", ""))) // 4)))})
            elif path == "/detokenize":
                await reply(w, 200, {"content": "x"})
            elif path == "/apply-template":
                await reply(w, 200, {"prompt": "x"})
            elif path == "/slots":
                await reply(w, 200, [{"id": i, "is_processing": False, "n_ctx": 4096} for i in range(16)])
            elif path == "/metrics":
                await reply(w, 200, b"", "text/plain")
            elif path in ("/completion", "/completions"):
                last = {
                    "index": 0,
                    "content": "",
                    "tokens": [],
                    "stop": True,
                    "stop_type": "limit",
                    "stopping_word": "",
                    "truncated": False,
                    "id_slot": 0,
                    "tokens_predicted": n,
                    "tokens_evaluated": 12,
                    "tokens_cached": 12 + n,
                    "model": "m",
                    "prompt": "",
                    "generation_settings": {},
                    "timings": {**TIMINGS, "predicted_n": n},
                }
                if q.get("stream"):
                    await stream(w, COMPLETION, n, [last])
                else:
                    await reply(w, 200, {**last, "content": "".join(WORDS) * (n // 10)})
            elif path.endswith("/chat/completions"):
                fin = {
                    "choices": [{"finish_reason": "length", "index": 0, "delta": {}}],
                    "created": 1,
                    "id": "chatcmpl-x",
                    "model": "m",
                    "object": "chat.completion.chunk",
                    "usage": {
                        "completion_tokens": n,
                        "prompt_tokens": 12,
                        "total_tokens": n + 12,
                        "prompt_tokens_details": {"cached_tokens": 0},
                    },
                    "timings": {**TIMINGS, "predicted_n": n},
                }
                if q.get("stream"):
                    await stream(w, CHAT, n, [fin, b"data: [DONE]\n\n"])
                else:
                    await reply(
                        w,
                        200,
                        {
                            "choices": [
                                {
                                    "finish_reason": "length",
                                    "index": 0,
                                    "message": {"role": "assistant", "content": "".join(WORDS) * (n // 10)},
                                }
                            ],
                            "model": "m",
                            "object": "chat.completion",
                            "created": 1,
                            "id": "x",
                            "usage": fin["usage"],
                            "timings": fin["timings"],
                        },
                    )
            elif path.endswith("/embeddings"):
                inp = q.get("input", q.get("content", ""))
                inp = inp if isinstance(inp, list) else [inp]
                await reply(
                    w,
                    200,
                    {
                        "object": "list",
                        "model": "m",
                        "data": [
                            {"object": "embedding", "index": i, "embedding": [0.05] * 384}
                            for i, _ in enumerate(inp)
                        ],
                        "usage": {"prompt_tokens": len(inp), "total_tokens": len(inp)},
                    },
                )
            else:
                await reply(
                    w, 404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}
                )
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        w.close()


async def main():
    if HOST.endswith(".sock"):
        s = await asyncio.start_unix_server(handle, HOST, limit=1 << 24)
    else:
        s = await asyncio.start_server(handle, HOST, PORT, limit=1 << 24)
    print(
        f"srv  llama_server: model loaded\nsrv  llama_server: listening on {HOST}:{PORT}",
        file=sys.stderr,
        flush=True,
    )
    async with s:
        await s.serve_forever()


asyncio.run(main())
