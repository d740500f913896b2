"""Fields that the user has named: their values, and bodies without them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from nbckpt.llm.http_request import HttpRequest
from nbckpt.llm.request_keys import Canonical

HIDDEN = "***"
Fields = frozenset[str]


def values_of(asked: HttpRequest, body: Canonical, fields: Fields) -> set[str]:
    """Values of the named fields in a request's URL, JSON, or form."""
    if not fields:
        return set()
    found: set[str] = set()
    pairs = parse_qsl(urlsplit(asked.url).query)
    if body.members is not None:
        _without(body.members, fields, found)
    elif "urlencoded" in asked.header("content-type"):
        pairs += parse_qsl(asked.body.decode("utf-8", "replace"))
    else:
        parts = _of_forms(fields).finditer(body.text)
        found |= {part[2].decode("utf-8", "replace") for part in parts}
    return found | {value for name, value in pairs if name in fields}


def without(body: Canonical, fields: Fields) -> bytes:
    """The text of a request's body, with stars in its fields."""
    if not fields:
        return body.text
    if body.members is not None:
        value = hidden(body.members, fields)
        told = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return told.encode("utf-8", "surrogatepass")
    names = b"|".join(map(re.escape, (name.encode() for name in fields)))
    text = re.sub(rb"(?:(?<=&)|^)(%b)=[^&\s]*" % names, rb"\1=***", body.text)
    return _of_forms(fields).sub(rb"\1***", text)


def hidden(members: Mapping[str, Any] | None, fields: Fields) -> Any:
    """The members of a JSON body, with stars in its fields, however deep."""
    return members if members is None or not fields else _without(members, fields, set())


def without_in_answer(data: bytes, fields: Fields) -> bytes:
    """An answer with as many stars as a field's text had bytes, and round numbers."""
    for pattern in _of_answers(fields) if fields else ():
        data = pattern.sub(_starred, data)
    return data


def _starred(found: re.Match[bytes]) -> bytes:
    before, quote, text, number = found["before"], found["quote"], found["text"], found["number"]
    if number is not None:
        return before + b"1" + b"0" * (len(number) - 1)
    return before + quote + b"*" * len(text) + quote


@lru_cache(4)
def _of_answers(fields: Collection[str]) -> Sequence[re.Pattern[bytes]]:
    names = b"|".join(map(re.escape, (name.encode() for name in fields)))
    return [
        re.compile(
            rb"(?P<before>(?P<quote>%b)(?:%b)(?P=quote)\s*:\s*)"
            rb"(?:(?P=quote)(?P<text>%b)(?P=quote)|(?P<number>-?[0-9][0-9.eE+-]*))"
            % (quote, names, text)
        )
        # JSON may stand in a text of JSON, as what a tool is called with does.
        for quote, text in ((rb'"', rb'(?:[^"\\]|\\.)*'), (rb'\\+"', rb"[^\r\n]*?"))
    ]


@lru_cache(4)
def _of_forms(fields: Collection[str]) -> re.Pattern[bytes]:
    names = b"|".join(map(re.escape, (name.encode() for name in fields)))
    return re.compile(rb'(name="?(?:%b)"?(?:[^\r\n]*\r\n)+?\r\n)(.*?)(?=\r\n--)' % names, re.DOTALL)


def _without(value: Any, fields: Fields, found: set[str]) -> Any:
    if isinstance(value, Mapping):
        return {
            name: _leaves(each, found) if name in fields else _without(each, fields, found)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_without(each, fields, found) for each in value]
    if isinstance(value, str) and value[:1] in ("{", "["):
        return _without_in_text(value, fields, found)
    return value


def _without_in_text(text: str, fields: Fields, found: set[str]) -> str:
    """JSON in a text, such as a tool's arguments, without the fields' values; other text as is."""
    if not any(field in text for field in fields):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return json.dumps(_without(value, fields, found), ensure_ascii=False)


def _leaves(value: Any, found: set[str]) -> str:
    """Take note of all texts in a value, of which nothing is written."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            _leaves(each, found)
    elif value is not None and not isinstance(value, bool):
        found.add(str(value))
    return HIDDEN
