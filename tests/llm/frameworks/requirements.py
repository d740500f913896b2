"""Versions of the frameworks, and of the SDKs under them: the table in `docs/frameworks.md`."""

from __future__ import annotations

LANGCHAIN = (
    "langchain==1.5.2",
    "langgraph==1.2.24",
    "langchain-openai==1.7.4",
    "langchain-anthropic==1.7.10",
)
LLAMA_INDEX = (
    "llama-index-core==0.14.25", "llama-index-llms-openai==0.8.3",
    "llama-index-embeddings-openai==0.7.0", "llama-index-llms-anthropic==0.12.3",
)  # fmt: skip

REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "agno": ("agno==3.1.10", "openai==3.57.0", "anthropic==2.14.0"),
    "autogen": ("autogen-agentchat==0.7.5", "autogen-ext[openai]==0.7.5", "openai==3.57.0"),
    "crewai": ("crewai==1.15.30", "openai==2.54.0"),
    "dspy": ("dspy==3.4.1", "litellm==1.110.2", "openai==3.3.0"),
    "google_adk": ("google-adk==2.13.0", "google-genai==2.34.0"),
    "google_genai": ("google-genai==3.6.1",),
    "haystack": ("haystack-ai==3.4.1", "openai==3.57.0"),
    "instructor": ("instructor==1.17.0", "litellm==1.110.2", "openai==3.3.0"),
    "langchain": (*LANGCHAIN, "openai==3.57.0", "anthropic==2.14.0"),
    "litellm": ("litellm==1.110.2", "openai==3.3.0"),
    "llama_index": (*LLAMA_INDEX, "openai==2.54.0", "anthropic==0.125.0"),
    "magentic": ("magentic==0.41.1", "openai==3.57.0"),
    "mistral": ("mistralai==3.7.0",),
    "openai_agents": ("openai-agents==0.24.0", "openai==3.57.0"),
    "pools": ("joblib==1.6.0", "nest-asyncio==1.6.0", "openai==3.57.0"),
    "pydantic_ai": (
        "pydantic-ai-slim[anthropic,google,mistral,openai]==2.68.0",
        "openai==3.57.0", "anthropic==2.14.0", "google-genai==2.34.0", "mistralai==3.7.0",
    ),
    "smolagents": ("smolagents[litellm,openai]==1.26.0", "litellm==1.110.2", "openai==3.3.0"),
    "strands": ("strands-agents[openai,anthropic]==1.62.0", "openai==2.54.0", "anthropic==0.125.0"),
}  # fmt: skip
"""Framework → what is installed for it; its ways stand in `FRAMEWORK_ways`."""
