"""A value that a JSON schema allows, made of a text and a number. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbckpt.testing.wire import Json

DEEPEST = 12
"""Depth to which a schema that names itself is followed."""

BY_FORMAT = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "someone@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "127.0.0.1",
}


def value_for(schema: Json, text: str, n: int) -> Any:
    """A value that `schema` allows; strings tell `text`, numbers `n` where they may."""
    return _value(schema, schema, text, n, DEEPEST)


def _value(schema: Json, root: Json, text: str, n: int, depth: int) -> Any:
    schema = resolved(schema, root)
    for exact in ("const", "default"):
        if exact in schema:
            return schema[exact]
    if options := schema.get("enum"):
        return options[n % len(options)]
    for several in ("anyOf", "oneOf"):
        if choices := schema.get(several):
            return _value(chosen(choices, depth), root, text, n, depth - 1)
    if parts := schema.get("allOf"):
        return _value(merged([resolved(part, root) for part in parts]), root, text, n, depth - 1)
    return _of_kind(schema, root, text, n, depth)


def _of_kind(schema: Json, root: Json, text: str, n: int, depth: int) -> Any:
    match kind_of(schema):
        case "object":
            named = schema.get("properties", {}).items()
            required = schema.get("required", ())
            return {
                name: _value(inner, root, text, n, depth - 1)
                for name, inner in named
                if depth > 0 or name in required
            }
        case "array":
            least = int(schema.get("minItems", 1 if depth > 0 else 0))
            inner = schema.get("items") or {}
            return [_value(inner, root, text, n, depth - 1) for _ in range(least)]
        case "integer":
            return int(bounded(schema, n))
        case "number":
            return float(bounded(schema, n))
        case "boolean":
            return n % 2 == 1
        case "null":
            return None
    return BY_FORMAT.get(schema.get("format", "")) or fitting(schema, text)


def kind_of(schema: Json) -> str:
    """Type that a schema asks for, in lower case (Gemini writes it in capitals)."""
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "null")
    if kind is None:
        kind = "object" if "properties" in schema else "string"
    return str(kind).lower()


def resolved(schema: Json, root: Json) -> Json:
    """`schema`, or what it refers to in `root`."""
    while "$ref" in schema:
        found: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found.get(step, {}) if isinstance(found, Mapping) else {}
        rest = {name: value for name, value in schema.items() if name != "$ref"}
        schema = {**found, **rest}
    return schema


def chosen(choices: list[Json], depth: int) -> Json:
    """The first choice that is something; null where a schema goes on for ever."""
    empty = [choice for choice in choices if choice.get("type") == "null"]
    if empty and depth <= 0:
        return empty[0]
    return next((choice for choice in choices if choice not in empty), choices[0])


def merged(parts: list[Json]) -> Json:
    """One schema of several that hold together."""
    whole: Json = {}
    for part in parts:
        properties = {**whole.get("properties", {}), **part.get("properties", {})}
        required = [*whole.get("required", []), *part.get("required", [])]
        whole = {**whole, **part, "properties": properties, "required": required}
    return whole


def bounded(schema: Json, n: float) -> float:
    """`n`, or the nearest number that `schema` allows."""
    if "minimum" in schema:
        n = max(n, schema["minimum"])
    if "exclusiveMinimum" in schema:
        n = max(n, schema["exclusiveMinimum"] + 1)
    if "maximum" in schema:
        n = min(n, schema["maximum"])
    if "exclusiveMaximum" in schema:
        n = min(n, schema["exclusiveMaximum"] - 1)
    return n


def fitting(schema: Json, text: str) -> str:
    """`text`, as long as `schema` wants it."""
    least = int(schema.get("minLength", 0))
    most = int(schema.get("maxLength", max(least, len(text))))
    return text.ljust(least, ".")[:most]
