"""langchain and langgraph, on the SDKs of OpenAI and Anthropic."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from pydantic import BaseModel

from tests.llm.frameworks.ways import CITIES, way, weather

PROMPT = f"How is the weather in {CITIES}?"


class Verdict(BaseModel):
    """A verdict."""

    answer: str
    score: int


class Said(TypedDict):
    topics: list[str]
    said: Annotated[list[str], operator.add]


def model() -> ChatOpenAI:
    return ChatOpenAI(model="m")


def told(state: dict[str, Any]) -> list[str]:
    return [f"{message.type}: {message.content}" for message in state["messages"]]


@way
def invoke() -> str:
    return str(model().invoke("hi").content)


@way
def responses() -> str:
    return str(ChatOpenAI(model="m", use_responses_api=True).invoke("hi").text)


@way
async def stream_async() -> list[str]:
    return [str(chunk.content) async for chunk in model().astream("hi")]


@way
def batch_in_threads() -> list[str]:
    return [str(answer.content) for answer in model().batch([f"hi {n}" for n in range(8)])]


@way
async def batch_async() -> list[str]:
    return [str(answer.content) for answer in await model().abatch(["a", "b", "c"])]


@way
def structured_output() -> Any:
    return model().with_structured_output(Verdict).invoke("hi").model_dump()


@way
def embeddings() -> list[float]:
    return OpenAIEmbeddings(model="m", check_embedding_ctx_length=False).embed_documents(["a"])[0]


@way
def agent() -> list[str]:
    agent = create_agent(model(), [tool(weather)])
    return told(agent.invoke({"messages": [("user", PROMPT)]}))


@way
async def agent_of_anthropic_streamed() -> list[str]:
    agent = create_agent(ChatAnthropic(model="m"), [tool(weather)])
    asked = {"messages": [("user", PROMPT)]}
    states = [state async for state in agent.astream(asked, stream_mode="values")]
    return told(states[-1])


@way
def agent_of_responses() -> list[str]:
    agent = create_agent(ChatOpenAI(model="m", use_responses_api=True), [tool(weather)])
    return [message.text for message in agent.invoke({"messages": [("user", PROMPT)]})["messages"]]


@way
def agent_with_a_thread_of_two_turns() -> list[str]:
    agent = create_agent(model(), [tool(weather)], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [("user", PROMPT)]}, config)
    return told(agent.invoke({"messages": [("user", "And then?")]}, config))


@way
def graph_with_parallel_nodes() -> list[str]:
    def ask(state: dict[str, str]) -> dict[str, list[str]]:
        return {"said": [str(model().invoke(state["topic"]).content)]}

    def sum_up(state: Said) -> dict[str, list[str]]:
        return {"said": [str(model().invoke(" ".join(state["said"])).content)]}

    graph = StateGraph(Said)
    graph.add_node("ask", ask)
    graph.add_node("sum_up", sum_up)
    graph.add_conditional_edges(
        START, lambda state: [Send("ask", {"topic": topic}) for topic in state["topics"]]
    )
    graph.add_edge("ask", "sum_up")
    graph.add_edge("sum_up", END)
    said: list[str] = graph.compile().invoke({"topics": ["a", "b", "c"], "said": []})["said"]
    return said
