"""haystack, on OpenAI's SDK."""

from __future__ import annotations

from haystack import Document, Pipeline
from haystack.components.agents import Agent
from haystack.components.builders import ChatPromptBuilder
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.components.writers import DocumentWriter
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.tools import create_tool_from_function

from tests.llm.frameworks.ways import CITIES, way, weather

PROMPT = f"How is the weather in {CITIES}?"


@way
def generator() -> str:
    return str(OpenAIChatGenerator(model="m").run([ChatMessage.from_user("hi")])["replies"][0].text)


@way
async def generator_async() -> str:
    model = OpenAIChatGenerator(model="m")
    return str((await model.run_async([ChatMessage.from_user("hi")]))["replies"][0].text)


@way
def stream() -> list[str]:
    parts: list[str] = []
    model = OpenAIChatGenerator(
        model="m", streaming_callback=lambda part: parts.append(part.content)
    )
    model.run([ChatMessage.from_user("hi")])
    return parts


@way
def agent() -> list[str]:
    tools = [create_tool_from_function(weather)]
    one = Agent(chat_generator=OpenAIChatGenerator(model="m"), tools=tools)
    said = one.run(messages=[ChatMessage.from_user(PROMPT)])["messages"]
    return [str(message.text) for message in said]


@way
def pipeline_over_documents() -> str:
    store = InMemoryDocumentStore()
    writing = Pipeline()
    writing.add_component("embed", OpenAIDocumentEmbedder(model="m", progress_bar=False))
    writing.add_component("write", DocumentWriter(store))
    writing.connect("embed", "write")
    documents = [Document(content=f"The river rises at {n} m.") for n in range(40)]
    writing.run({"embed": {"documents": documents}})
    asking = Pipeline()
    asking.add_component("embed", OpenAITextEmbedder(model="m"))
    asking.add_component("find", InMemoryEmbeddingRetriever(store, top_k=3))
    template = [ChatMessage.from_user("{% for d in documents %}{{ d.content }}{% endfor %} Where?")]
    asking.add_component("write", ChatPromptBuilder(template, required_variables="*"))
    asking.add_component("ask", OpenAIChatGenerator(model="m"))
    asking.connect("embed.embedding", "find.query_embedding")
    asking.connect("find.documents", "write.documents")
    asking.connect("write.prompt", "ask.messages")
    return str(asking.run({"embed": {"text": "Where?"}})["ask"]["replies"][0].text)
