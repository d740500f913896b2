"""Reading the bodies that clients send: fields that must be there, texts out of parts. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any, TypeVar

from nbckpt.testing.replies import BadRequestError
from nbckpt.testing.wire import Json, Request

T = TypeVar("T")

NAMES = {str: "a string", list: "an array", dict: "an object", int: "an integer", float: "a number"}


def body_of(request: Request) -> Json:
    """The body's object: of JSON, or the fields of a form (files as bytes).

    Raises
    ------
    BadRequestError
        If it is neither.
    """
    kind = request.headers.get("content-type", "")
    if kind.startswith("multipart/form-data"):
        return form_of(kind, request.body)
    try:
        body = json.loads(request.body or b"{}")
    except ValueError as error:
        message = f"We could not parse the JSON body of your request: {error}."
        raise BadRequestError(message) from error
    if not isinstance(body, dict):
        message = "The body of your request has to be a JSON object."
        raise BadRequestError(message)
    return body


def form_of(kind: str, data: bytes) -> Json:
    """The fields of a form."""
    message = BytesParser(policy=HTTP).parsebytes(
        f"Content-Type: {kind}\r\n\r\n".encode("latin-1") + data
    )
    fields: Json = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        raw = content if isinstance(content, bytes) else b""
        fields[str(name)] = raw if part.get_filename() else raw.decode(errors="replace")
    return fields


def need(body: Json, name: str, kind: type[T]) -> T:
    """The field `name`, which has to be of `kind`.

    Raises
    ------
    BadRequestError
        If it is missing or something else.
    """
    if name not in body:
        message = f"Missing required parameter: '{name}'."
        raise BadRequestError(message, name)
    value = body[name]
    if not isinstance(value, kind):
        wanted = NAMES.get(kind, kind.__name__)
        message = f"Invalid type for '{name}': expected {wanted}, but got {type(value).__name__}."
        raise BadRequestError(message, name)
    return value


def need_some(body: Json, name: str) -> list[Json]:
    """The field `name`, which has to be a list of objects, at least one."""
    items = need(body, name, list)
    if not items:
        message = f"Invalid '{name}': empty array. Expected an array with minimum length 1."
        raise BadRequestError(message, name)
    if not all(isinstance(item, dict) for item in items):
        message = f"Invalid type for '{name}[0]': expected an object."
        raise BadRequestError(message, name)
    return items


def texts(value: Any) -> Iterator[str]:
    """All strings in `value` that a model would read, in order; the data of files not."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name not in UNREAD:
                yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


UNREAD = {
    "type", "role", "id", "data", "url", "image_url", "inline_data", "inlineData", "file_data",
    "cache_control", "signature", "media_type", "mime_type", "mimeType", "images",
}  # fmt: skip
"""Fields of messages that are not read as text."""


def text_in(*values: Any) -> str:
    """All that a model would read of `values`, a line each."""
    return "\n".join(text for value in values for text in texts(value))


def last_of(messages: list[Json], role: str = "user") -> str:
    """Text of the last message of `role`, or of the last message if it has none."""
    said = (message for message in reversed(messages) if message.get("role") == role)
    message = next(said, messages[-1])
    return text_in(message.get("content", message.get("parts", "")))
