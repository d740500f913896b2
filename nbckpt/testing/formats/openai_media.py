"""OpenAI's images, speech and transcriptions."""

from __future__ import annotations

import base64
import io
import struct
import wave
import zlib

from nbckpt.testing.bodies import need
from nbckpt.testing.formats.openai_chat import EPOCH
from nbckpt.testing.replies import Ask, BadRequestError, Call, Reply
from nbckpt.testing.wire import Answer, Json, json_answer, sse_answer

AUDIO = {
    "mp3": "audio/mpeg",
    "opus": "audio/opus",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
RATE = 24_000
CHUNK_BYTES = 4096


def ask_image(call: Call) -> Ask:
    """Read an `Ask` from a request for an image."""
    prompt = need(call.body, "prompt", str)
    return Ask(
        call=call, model=str(call.body.get("model", "gpt-image-1")), prompt=prompt, text=prompt
    )


def image(ask: Ask, reply: Reply) -> Answer:
    """Pictures of one colour, told by the answer's number."""
    body = ask.call.body
    count = int(body.get("n") or 1)
    by_address = body.get("response_format") == "url"
    data: list[Json] = [
        {"url": f"https://images.example.com/{reply.n}-{at}.png"}
        if by_address
        else {"b64_json": base64.b64encode(png(reply.n, at)).decode()}
        for at in range(count)
    ]
    tokens = {
        "input_tokens": reply.tokens_in,
        "input_tokens_details": {"text_tokens": reply.tokens_in, "image_tokens": 0},
        "output_tokens": 272 * count,
        "total_tokens": reply.tokens_in + 272 * count,
    }
    return json_answer({"created": EPOCH + reply.n, "data": data, "usage": tokens})


def png(red: int, green: int) -> bytes:
    """A picture of 8 by 8 pixels of one colour."""
    row = b"\0" + bytes((red % 256, green % 256, 128)) * 8
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(row * 8)),
    ]
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in [*parts, (b"IEND", b"")]
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def ask_speech(call: Call) -> Ask:
    """Read an `Ask` from a request for speech."""
    text = need(call.body, "input", str)
    need(call.body, "voice", object)
    return Ask(call=call, model=need(call.body, "model", str), prompt=text, text=text)


def speech(ask: Ask, reply: Reply) -> Answer:
    """A sound as long as the text, told by the answer's number; streamed, as OpenAI does it."""
    kind = str(ask.call.body.get("response_format") or "mp3")
    samples = struct.pack("<h", reply.n % 32_000) * (40 * max(1, len(ask.prompt)))
    # No encoder is in the standard library: what is not wav is the bare samples under that name.
    data = wav(samples) if kind == "wav" else samples
    chunks = [data[start : start + CHUNK_BYTES] for start in range(0, len(data), CHUNK_BYTES)]
    return Answer(200, tuple(chunks), AUDIO.get(kind, "application/octet-stream"), streamed=True)


def wav(samples: bytes) -> bytes:
    """The samples, with a head that tells what they are."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(RATE)
        writer.writeframes(samples)
    return file.getvalue()


def ask_transcript(call: Call) -> Ask:
    """Read an `Ask` from a request to transcribe a recording."""
    if not isinstance(call.body.get("file"), bytes):
        message = "Missing required parameter: 'file'."
        raise BadRequestError(message, "file")
    prompt = f"{len(call.body['file'])} bytes of sound"
    streamed = str(call.body.get("stream", "")).lower() == "true"
    return Ask(
        call=call,
        model=need(call.body, "model", str),
        prompt=prompt,
        text=prompt,
        streamed=streamed,
    )


def transcript(ask: Ask, reply: Reply) -> Answer:
    """The text of a recording, in the shape that is asked for."""
    seconds = max(1, len(ask.call.body["file"]) // (2 * RATE))
    usage = {
        "type": "tokens",
        "input_tokens": 10 * seconds,
        "input_token_details": {"audio_tokens": 10 * seconds, "text_tokens": 0},
        "output_tokens": reply.tokens_out,
        "total_tokens": 10 * seconds + reply.tokens_out,
    }
    if ask.streamed:
        deltas = [{"type": "transcript.text.delta", "delta": piece} for piece in reply.pieces]
        done = {"type": "transcript.text.done", "text": reply.text, "usage": usage}
        return sse_answer((None, event) for event in [*deltas, done])
    match ask.call.body.get("response_format"):
        case "text" | "srt" | "vtt":
            return Answer(200, (reply.text.encode() + b"\n",), "text/plain; charset=utf-8")
        case "verbose_json":
            told = {
                "task": "transcribe",
                "language": "english",
                "duration": seconds,
                "segments": [],
            }
            lasted = {"type": "duration", "seconds": seconds}
            return json_answer({**told, "text": reply.text, "usage": lasted})
    return json_answer({"text": reply.text, "usage": usage})
