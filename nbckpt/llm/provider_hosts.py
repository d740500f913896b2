"""Hosts of the providers of models, and what their SDKs say who they are. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

_HOSTS = (
    ("api.openai.com", "openai"),
    ("api.anthropic.com", "anthropic"),
    ("openai.azure.com", "azure.ai.openai"),
    ("cognitiveservices.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.inference"),
    ("models.ai.azure.com", "azure.ai.inference"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.groq.com", "groq"),
    ("api.deepseek.com", "deepseek"),
    ("api.x.ai", "x_ai"),
    ("api.perplexity.ai", "perplexity"),
    ("openrouter.ai", "openrouter"),
    ("api.together.xyz", "together"),
    ("api.together.ai", "together"),
    ("api.fireworks.ai", "fireworks"),
    ("api.ai21.com", "ai21"),
    ("api.cerebras.ai", "cerebras"),
    ("api.cohere.ai", "cohere"),
    ("api.cohere.com", "cohere"),
    ("api.jina.ai", "jina"),
    ("deepsearch.jina.ai", "jina"),
    ("api.replicate.com", "replicate"),
    ("api.sambanova.ai", "sambanova"),
    ("api.voyageai.com", "voyageai"),
    ("api-inference.huggingface.co", "huggingface"),
    ("router.huggingface.co", "huggingface"),
)
"""Ending of a host's name, and the provider that it belongs to."""

_BEDROCK = (
    r"bedrock(?:-runtime|-mantle)?(?:-fips)?\.[a-z0-9.-]*(?:amazonaws\.com(?:\.cn)?|api\.aws)"
)
_OF_BEDROCK = re.compile(rf"(?:^|\.){_BEDROCK}$")

_OTHERS = (
    "api.deepgram.com", "api.deepinfra.com", "api.elevenlabs.io", "api.novita.ai",
    "api.runpod.ai", "api.stability.ai", "dashscope.aliyuncs.com", "endpoints.huggingface.cloud",
    "fal.run", "integrate.api.nvidia.com", "ml.cloud.ibm.com", "models.github.ai", "queue.fal.run",
)  # fmt: skip
"""Hosts of models of whose paths not all are in a table."""
_BY_REGION = r"(?:bedrock-agent-runtime|runtime\.sagemaker)\.[a-z0-9.-]*amazonaws\.com"

_NAMES = "|".join(re.escape(name) for name in (*(ending for ending, _ in _HOSTS), *_OTHERS))
_WATCHED = re.compile(rf"(?:^|[/.@-])(?:{_NAMES}|{_BEDROCK}|{_BY_REGION})(?=[:/?#]|$)")

_SDKS = (
    (re.compile(r"^\w*AzureOpenAI\w*/Python"), "azure.ai.openai"),
    (re.compile(r"^\w*OpenAI\w*/Python"), "openai"),
    (re.compile(r"^\w*AnthropicBedrock\w*/Python"), "aws.bedrock"),
    (re.compile(r"^\w*AnthropicVertex\w*/Python"), "gcp.vertex_ai"),
    (re.compile(r"^\w*Anthropic\w*/Python"), "anthropic"),
    (re.compile(r"(?:^|\s)google-genai-sdk/"), "gcp.gemini"),
    (re.compile(r"\bmistralai$|^mistral-client"), "mistral_ai"),
    (re.compile(r"^cohere/"), "cohere"),
    (re.compile(r"^replicate-python/"), "replicate"),
    (re.compile(r"(?:^|\s)huggingface_hub/|hf_hub/"), "huggingface"),
    (re.compile(r"(?:^|\s)(?:langchain|litellm|voyageai?)[\w-]*/"), ""),
)
"""What `user-agent` says, and whose SDK that is; empty if it asks several."""
_SIGNED = "/bedrock/aws4_request"


def watched(place: str) -> bool:
    """True if a URL, or the name of a host, is one of a provider of models."""
    return _WATCHED.search(place) is not None


@lru_cache(1024)
def owner_of(host: str) -> str | None:
    """The provider that a host belongs to; None if no table tells which of its paths are calls."""
    for ending, provider in _HOSTS:
        if host == ending or host.endswith((f".{ending}", f"-{ending}")):
            return provider
    return "aws.bedrock" if _OF_BEDROCK.search(host) else None


def sdk_of(headers: Iterable[tuple[Any, Any]]) -> str | None:
    """The provider whose SDK sends a request, empty if it may be of several; None if none does.

    An address of one's own says nothing of what listens there.
    """
    for name, value in headers:
        match _text(name).lower():
            case "user-agent":
                if (provider := _sdk_named(_text(value))) is not None:
                    return provider
            case "x-goog-upload-command":
                return "gcp.gemini"
            case "authorization" if _SIGNED in _text(value):
                return "aws.bedrock"
    return None


@lru_cache(256)
def _sdk_named(user_agent: str) -> str | None:
    return next((owner for pattern, owner in _SDKS if pattern.search(user_agent)), None)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
