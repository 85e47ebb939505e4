"""The graphs of test/agent/tracing/graphs, in Python, and one that LangSmith's library traces, too."""

import os
from typing import Any

from langchain_core.language_models import FakeListChatModel
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from opentelemetry import trace


@tool
def look() -> str:
    """Looks something up."""
    return "found"


async def search(state: MessagesState) -> dict[str, Any]:
    await look.ainvoke({})
    return {}


inner = StateGraph(MessagesState).add_node("search", search).add_edge(START, "search").compile()


async def ask(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await FakeListChatModel(responses=["done"]).ainvoke(state["messages"])]}


def ask_in_a_thread(state: MessagesState) -> dict[str, Any]:
    return {"messages": [FakeListChatModel(responses=["done"]).invoke(state["messages"])]}


def _asking(node: Any) -> Any:
    builder = StateGraph(MessagesState).add_node("ask", node).add_node("research", inner)
    return builder.add_edge(START, "ask").add_edge("ask", "research").compile()


# A node that asks a model, and a graph as a node, which uses a tool.
thinks, thinks_in_a_thread = _asking(ask), _asking(ask_in_a_thread)


def breaks(state: MessagesState) -> dict[str, Any]:
    raise LookupError("no such thing")


fails = StateGraph(MessagesState).add_node("breaks", breaks).add_edge(START, "breaks").compile()


async def wait(state: MessagesState) -> dict[str, Any]:
    return {"messages": [("ai", str(interrupt("Is it good?")))]}


approval = StateGraph(MessagesState).add_node("wait", wait).add_edge(START, "wait").compile()


async def say(state: MessagesState) -> dict[str, Any]:
    return {"messages": [("ai", str(os.environ.get("LANGSMITH_PROJECT")))]}


async def show_span(state: MessagesState) -> dict[str, Any]:
    place = trace.get_current_span().get_span_context()
    return {"messages": [("ai", f"{place.trace_id:032x}-{place.span_id:016x}-{place.is_remote}")]}


shows_span = StateGraph(MessagesState).add_node("show", show_span).add_edge(START, "show").compile()


project = StateGraph(MessagesState).add_node("say", say).add_edge(START, "say").compile()
