"""Digests of requests: equal for requests that ask the same. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from nbckpt.digests import Digest, digest_of
from nbckpt.llm.http_request import HttpRequest
from nbckpt.llm.providers import Endpoint

HEADERS = (
    "anthropic-version",
    "anthropic-beta",
    "openai-beta",
    "openai-organization",
    "openai-project",
    "range",
)
"""Those that change an answer."""

KEYS_IN_URLS = frozenset(
    ["access_token", "api-key", "api_key", "apikey", "key", "sig", "signature", "token"]
)
_ONLY_KEYS = frozenset(["access_token", "api-key", "api_key", "apikey"])
"""Of any host's parameters, those that ask for nothing: `token` may name a page, `key` an entry."""
_BOUNDARY = re.compile(r'boundary="?([^\s;"]+)')


class Canonical(NamedTuple):
    """Body of a request, without the parts that may differ between equal ones.

    Attributes
    ----------
    text
        The body: JSON with sorted keys, or the bytes with another boundary.
    members
        Of the JSON object that the body is; None if it is not one.
    """

    text: bytes
    members: Mapping[str, Any] | None


def canonical(asked: HttpRequest) -> Canonical:
    """The body of a request, with one text for all that mean the same."""
    media_type = asked.header("content-type")
    if "multipart" in media_type:
        if found := _BOUNDARY.search(media_type):
            return Canonical(asked.body.replace(found[1].encode(), b"boundary"), None)
        return Canonical(asked.body, None)
    try:
        value = json.loads(asked.body, parse_float=_number)
        body = _text_of(value)
    except (ValueError, RecursionError):
        return Canonical(asked.body, None)
    return Canonical(body, value if isinstance(value, dict) else None)


def _number(text: str) -> int | float:
    """A number that is whole is one number however it is written: ``1.0`` asks what ``1`` asks."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < _WHOLE else number


_WHOLE = 2.0**53


_TELLING_NOTHING = {
    "aws.bedrock": frozenset({"clientRequestToken", "requestMetadata"}),
    "openai": frozenset({"metadata", "prompt_cache_key", "safety_identifier", "user"}),
    "mistral_ai": frozenset({"metadata"}),
    "anthropic": frozenset({"metadata"}),
    "gcp.gemini": frozenset({"batch.displayName", "displayName", "labels"}),
    "gcp.vertex_ai": frozenset({"displayName", "labels", "metadata"}),
}
"""Members that no answer depends on, by whose endpoint it is: frameworks put random ids there [1]_.

References
----------
.. [1] The providers' API references: "Create chat completion" and "Create a model response" of
   OpenAI, "Chat completion" of Mistral, "Create a message" of Anthropic, "generateContent" of
   Google.
"""


def key_of(
    asked: HttpRequest, endpoint: Endpoint, body: Canonical, ignored: Collection[str] = ()
) -> Digest:
    """The digest of what a request asks of whom; keys and volatile headers do not count.

    Parameters
    ----------
    ignored
        Members of the body that the user does not want compared; ``a.b`` is `b` within `a`.
    """
    query = parse_qsl(urlsplit(asked.url).query, True)
    keys = _ONLY_KEYS if endpoint.kind.takes_any else KEYS_IN_URLS
    told = sorted((name, value) for name, value in query if name.lower() not in keys)
    headers = [[name, asked.header(name)] for name in HEADERS if asked.header(name)]
    # The path tells what is asked for; a port is another one whenever a server is started.
    place = [endpoint.provider, endpoint.host, endpoint.path, told, headers]
    if asked.method != "POST":
        place.append(asked.method)
    members = None if body.members is None else compared(body.members, endpoint, ignored)
    if members is not None and any(mark in body.text for mark in _OF_TOOLS):
        members = with_ids_in_order(members)
    if members is not None and _SIGNING.search(body.text):
        members = with_plain_addresses(members)
    text = body.text if members is None or members is body.members else _text_of(members)
    return digest_of(json.dumps(place), b"\0", text)


def compared(
    members: Mapping[str, Any], endpoint: Endpoint, ignored: Collection[str]
) -> Mapping[str, Any]:
    """The members of a body that tell what is asked; the very same if all do."""
    telling_nothing = _TELLING_NOTHING.get(endpoint.kind.provider, frozenset())
    for path in {*telling_nothing, *ignored}:
        members = _without(members, path.split("."))
    return members


def with_ids_in_order(members: Mapping[str, Any]) -> Mapping[str, Any]:
    """The members with a number for each id of a tool's call: who made it up does not count.

    An id says which result belongs to which call, and that is the same with any other. Frameworks
    make them up where the provider's API has none, anew in each run: pydantic-ai for Gemini,
    LiteLLM for Ollama.
    """
    renamed = _renamed(members, "", {})
    return renamed if isinstance(renamed, Mapping) else members


def _renamed(value: Any, place: str, numbers: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_renamed(inner, place, numbers) for inner in value]
    if not isinstance(value, Mapping):
        return value
    is_call = (
        place in _CALLS
        or isinstance(value.get("function"), Mapping)
        or value.get("type") in _CALL_TYPES  # of a schema it may be a list
    )

    def member(name: str) -> Any:
        inner = value[name]
        is_id = name in _CALL_IDS or (is_call and name == "id")
        if is_id and isinstance(inner, str) and inner:
            return numbers.setdefault(inner, f"call {len(numbers)}")
        return _renamed(inner, name, numbers)

    return {name: member(name) for name in sorted(value)}


_CALL_IDS = frozenset({"call_id", "toolCallId", "toolUseId", "tool_call_id", "tool_use_id"})
"""Members that name a tool's call: of OpenAI, Mistral, Ollama; Bedrock; Anthropic."""
_CALLS = frozenset({"functionCall", "functionResponse", "function_call", "function_response"})
"""Members that are a tool's call or result, with an ``id``: of Gemini."""
_CALL_TYPES = ("function_call", "function_call_output", "tool_result", "tool_use")
"""Types of what is one: of OpenAI's responses, Anthropic."""
_OF_TOOLS = (b"call_id", b"function", b"toolUse", b"tool_call", b"tool_use")
"""Texts without one of which a body has no such id."""


def with_plain_addresses(members: Mapping[str, Any]) -> Mapping[str, Any]:
    """The members with addresses that nobody signed: who may read something, until when.

    A signed address is another one whenever it is asked for, and leads to the same: of a file at
    Mistral's, of a picture in a bucket [1]_ [2]_ [3]_.

    References
    ----------
    .. [1] Amazon S3, API reference, "Authenticating requests: using query parameters".
    .. [2] Google Cloud Storage, documentation, "V4 signing process".
    .. [3] Microsoft, Azure Storage, "Create a service SAS".
    """
    plain = _plain(members)
    return plain if isinstance(plain, Mapping) else members


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, str) and _ADDRESS.fullmatch(value) and _SIGNING.search(value.encode()):
        place, _, query = value.partition("?")
        parameters = parse_qsl(query, True)
        signing = _signing_in(place, {name for name, _ in parameters})
        if signing:
            told = [(name, value) for name, value in parameters if name not in signing]
            return f"{place}?{urlencode(told)}"
    return value


def _signing_in(place: str, names: Collection[str]) -> frozenset[str]:
    """The parameters that only sign; elsewhere ones of these names may ask for something."""
    if "sig" in names and _OF_AZURE.match(place):
        return _SAS
    return next((all_ for needed, all_ in _SIGNED if needed <= {*names}), frozenset())


_ADDRESS = re.compile(r"https?://[^\s?#]+\?[^\s#]+")
_SIGNING = re.compile(rb"(?i)[?&](?:sig|signature|x-amz-signature|x-goog-signature)=")
_PARTS = "Algorithm Credential Date Expires Security-Token Signature SignedHeaders"
_V4 = [frozenset(f"X-{who}-{part}" for part in _PARTS.split()) for who in ("Amz", "Goog")]
_PARTS_OF_SAS = "sig se sv st sp spr sip ske skoid sks skt sktid skv saoid suoid ses"
_SAS = frozenset(_PARTS_OF_SAS.split())
_OF_AZURE = re.compile(r"https://[\w-]+\.(?:blob|dfs|file|queue|table)\.core\.windows\.net/")
_SIGNED = (
    *((frozenset(n for n in of if n.endswith(("-Signature", "-Credential"))), of) for of in _V4),
    (frozenset({"sig", "se", "sv", "sp"}), _SAS),
    *(
        (frozenset({"Signature", who, until}), frozenset({"Signature", who, until}))
        for who in ("AWSAccessKeyId", "GoogleAccessId", "Key-Pair-Id")
        for until in ("Expires", "Policy")
    ),
)
"""Parameters that have to be there, and those that then say who may read, until when.

Of Amazon, Google, Azure and CloudFront, which a host of any name may stand before. In an address of
Azure's own storage a signature is one whatever is beside it.
"""


def _without(members: Mapping[str, Any], path: list[str]) -> Mapping[str, Any]:
    """The members without one that is there, however deep; else the very same."""
    name, *inner = path
    if name not in members:
        return members
    if not inner:
        return {key: value for key, value in members.items() if key != name}
    if not isinstance(members[name], Mapping):
        return members
    within = _without(members[name], inner)
    return members if within is members[name] else {**members, name: within}


def _text_of(value: object) -> bytes:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")
