"""Types whose instances hold no data: clients of services, and the notebook's own machinery."""

from __future__ import annotations

import re

from nbckpt.fingerprint.user_names import Own
from nbckpt.fingerprint.values.homes import module_of_class

_CLIENT_PACKAGES = """
    aiobotocore aiohttp aisuite anthropic azure boto3 botocore cohere fireworks google groq grpc
    h11 hpack httpcore httpcore2 httpx httpx2 huggingface_hub instructor langchain
    langchain_anthropic langchain_community langchain_core langchain_google_genai langchain_openai
    langfuse langsmith litellm llama_index mistralai ollama openai openrouter pinecone redis
    replicate requests s3fs s3transfer tavily tenacity together urllib3 voyageai websockets
    xai_sdk
"""

_CLIENTS = frozenset(_CLIENT_PACKAGES.split())
"""Packages whose objects, if they hold a connection, speak with the outside and hold no data."""

_MACHINERY = frozenset({"IPython", "ipykernel", "tornado", "zmq"})
"""Packages of the notebook itself."""

_DATA = re.compile(r"IPython\.(utils|lib|core\.(display(_functions)?|macro|magics))(\.|$)")
"""Modules of theirs whose objects hold what cells made: `!ls`, ``%%capture``, ``HTML('…')``."""

_ANSWERS = ("Cursor", "Future", "Iterator", "Reader", "Response", "Result", "Stream")
"""Endings of the names of classes of a client's package whose objects hold data after all."""

_EMPTY_HANDED = frozenset(
    {
        "_abc._abc_data",
        "ssl.SSLContext",
        "_ssl._SSLContext",
        "_asyncio.TaskStepMethWrapper",
    }
)
"""Types whose instances hold no data."""


def is_client(kind: type) -> bool:
    """True if a class is of a package that speaks with the outside, and is no answer from there."""
    if module_of_class(kind).partition(".")[0] not in _CLIENTS:
        return False
    iterates = hasattr(kind, "__next__") or hasattr(kind, "__anext__")
    return not iterates and not kind.__name__.endswith(_ANSWERS)


def is_bare(kind: type) -> bool:
    """True if instances of a class count by their type alone."""
    package = module_of_class(kind).partition(".")[0]
    if package in _MACHINERY:
        return not _DATA.match(module_of_class(kind)) or hasattr(kind, "class_traits")
    if issubclass(kind, Own):
        return True
    return f"{module_of_class(kind)}.{kind.__qualname__}" in _EMPTY_HANDED
