"""Embeddings as OpenAI, Mistral, Gemini and Ollama give them.

The same text has the same vector in all of them, and always: real ones are not sampled either.
"""

from __future__ import annotations

import base64
import hashlib
import math
import struct
from typing import Any

from nbckpt.testing.bodies import need, need_some, text_in
from nbckpt.testing.formats.gemini import given
from nbckpt.testing.replies import Ask, BadRequestError, Call, Reply
from nbckpt.testing.wire import Answer, Json, json_answer

WIDTH = 64
"""Numbers in a vector where the request does not say."""


def vector(text: str, width: int) -> list[float]:
    """`width` numbers of length 1 that are always the same for `text`."""
    stream = hashlib.shake_128(text.encode()).digest(2 * width)
    numbers = [number / 32768 or 1.0 for number in struct.unpack(f"<{width}h", stream)]
    length = math.hypot(*numbers)
    # As floats of 32 bits, so that the numbers and their base64 are the same values.
    return list(
        struct.unpack(f"<{width}f", struct.pack(f"<{width}f", *(n / length for n in numbers)))
    )


def texts_of(given: Any) -> list[str]:
    """The inputs, which may be one text, texts, or tokens."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, list) or not given:
        message = "Missing required parameter: 'input'."
        raise BadRequestError(message, "input")
    if all(isinstance(each, int) for each in given):
        return [str(given)]
    return [each if isinstance(each, str) else str(each) for each in given]


def ask(call: Call) -> Ask:
    """Read an `Ask` from a request to OpenAI, Mistral or Ollama."""
    given = call.body.get("input", call.body.get("prompt"))
    model, texts = need(call.body, "model", str), texts_of(given)
    return Ask(call=call, model=model, prompt=texts[-1], text="\n".join(texts))


def openai(ask: Ask, reply: Reply) -> Answer:
    """OpenAI's list, as numbers or in base64; Mistral's with an id."""
    body = ask.call.body
    width = int(body.get("dimensions") or body.get("output_dimension") or WIDTH)
    coded = body.get("encoding_format") == "base64"
    vectors = [vector(text, width) for text in texts_of(body["input"])]
    data = [
        {"object": "embedding", "index": at, "embedding": in_base64(each) if coded else each}
        for at, each in enumerate(vectors)
    ]
    usage = {"prompt_tokens": reply.tokens_in, "total_tokens": reply.tokens_in}
    whole = {"object": "list", "data": data, "model": ask.model, "usage": usage}
    return json_answer(
        {"id": f"embd-{reply.n}", **whole} if ask.call.provider == "mistral" else whole
    )


def in_base64(numbers: list[float]) -> str:
    """The numbers as floats of 32 bits."""
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def ollama(ask: Ask, reply: Reply) -> Answer:
    """Ollama's, of many inputs."""
    width = int(ask.call.body.get("dimensions") or WIDTH)
    vectors = [vector(text, width) for text in texts_of(ask.call.body["input"])]
    spent = {
        "total_duration": 1_000_000,
        "load_duration": 1_000,
        "prompt_eval_count": reply.tokens_in,
    }
    return json_answer({"model": ask.model, "embeddings": vectors, **spent})


def ollama_one(ask: Ask, _reply: Reply) -> Answer:
    """Ollama's older answer, of one prompt."""
    return json_answer({"embedding": vector(ask.prompt, WIDTH)})


def gemini_ask(call: Call) -> Ask:
    """Read an `Ask` from a request to Gemini: one content, or requests of one content each."""
    model = call.path.rsplit("/", 1)[-1].partition(":")[0]
    contents = [each["content"] for each in gemini_requests(call)]
    return Ask(call=call, model=model, prompt=text_in(contents[-1]), text=text_in(contents))


def gemini_requests(call: Call) -> list[Json]:
    """The single requests."""
    if call.path.endswith(":batchEmbedContents"):
        return need_some(call.body, "requests")
    need(call.body, "content", dict)
    return [call.body]


def gemini(ask: Ask, reply: Reply) -> Answer:
    """Gemini's, of one content or of many."""
    embeddings = []
    for asked in gemini_requests(ask.call):
        config = given(asked, "embedContentConfig")
        width = given(asked, "outputDimensionality") or given(config, "outputDimensionality")
        embeddings.append({"values": vector(text_in(asked["content"]), int(width or WIDTH))})
    usage = {
        "usageMetadata": {"promptTokenCount": reply.tokens_in, "totalTokenCount": reply.tokens_in}
    }
    if ask.call.path.endswith(":batchEmbedContents"):
        return json_answer({"embeddings": embeddings, **usage})
    return json_answer({"embedding": embeddings[0], **usage})
