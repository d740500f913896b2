"""llama-index, on OpenAI's SDK and Anthropic's."""

from __future__ import annotations

from typing import Any

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.anthropic import Anthropic
from llama_index.llms.openai import OpenAI
from pydantic import BaseModel

from tests.llm.frameworks.ways import CITIES, way, weather

PROMPT = f"How is the weather in {CITIES}?"


class Verdict(BaseModel):
    """A verdict."""

    answer: str
    score: int


def model() -> OpenAI:
    return OpenAI(model="gpt-4o-mini")


@way
def complete() -> str:
    return str(model().complete("hi"))


@way
async def complete_async() -> str:
    return str(await model().acomplete("hi"))


@way
def stream() -> list[str]:
    return [str(part.delta) for part in model().stream_complete("hi")]


@way
def of_anthropic() -> str:
    return str(Anthropic(model="claude-sonnet-4-5").complete("hi"))


@way
def structured_output() -> Any:
    return model().as_structured_llm(Verdict).complete("hi").raw.model_dump()


@way
async def agent() -> str:
    agent = FunctionAgent(tools=[weather], llm=model())
    return str(await agent.run(PROMPT))


@way
async def agents_that_hand_on() -> str:
    one = FunctionAgent(name="one", description="first", tools=[weather], llm=model())
    two = FunctionAgent(name="two", description="second", tools=[weather], llm=model())
    flow = AgentWorkflow(agents=[one, two], root_agent="one")
    return str(await flow.run(PROMPT))


@way
def index_and_query() -> str:
    embed = OpenAIEmbedding(model_name="text-embedding-3-small")
    documents = [Document(text=f"The river rises at {n} m. " * 9) for n in range(30)]
    index = VectorStoreIndex.from_documents(documents, embed_model=embed)
    return str(index.as_query_engine(llm=model()).query("Where does it rise?"))


@way
async def query_async() -> str:
    embed = OpenAIEmbedding(model_name="text-embedding-3-small")
    documents = [Document(text=f"The river rises at {n} m.") for n in range(3)]
    index = VectorStoreIndex.from_documents(documents, embed_model=embed, use_async=True)
    engine = index.as_query_engine(llm=model(), response_mode="tree_summarize", use_async=True)
    return str(await engine.aquery("Where does it rise?"))
