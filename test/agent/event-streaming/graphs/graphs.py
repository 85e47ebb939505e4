"""The Python twin of graphs.ts: the graphs of the captured streams."""

import asyncio
import operator
from typing import Annotated, Any

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt
from typing_extensions import TypedDict


class State(MessagesState, total=False):
    value: str
    items: Annotated[list[str], operator.add]


class Sub(MessagesState, total=False):
    note: str


def say(step: str, phase: str, **more: Any) -> None:
    get_stream_writer()({"name": "progress", "step": step, "phase": phase, **more})


async def within(state: Sub) -> dict[str, Any]:
    say("sub_node", "start")
    say("sub_node", "end")
    return {"messages": [AIMessage(id="sub-msg-1", content="from subgraph")], "note": "ran"}


sub = StateGraph(Sub).add_node("sub", within).add_edge(START, "sub").compile()


async def stream_message(state: State) -> dict[str, Any]:
    say("stream_message", "start")
    message = await FakeListChatModel(responses=["Hello, world!"]).ainvoke("hi")
    say("stream_message", "end")
    return {"messages": [message], "value": "x", "items": ["streamed"]}


async def call_tool(state: State) -> dict[str, Any]:
    say("call_tool", "start")
    say("call_tool", "end")
    call = {"name": "search", "args": {"query": "v3"}, "id": "tc-1"}
    answer = ToolMessage(content="result for 'v3'", tool_call_id="tc-1")
    return {"messages": [AIMessage(id="ai-msg-2", content="", tool_calls=[call]), answer], "items": ["tool"]}


async def ask_human(state: State) -> dict[str, Any]:
    say("ask_human", "start")
    answer = interrupt("Are we good?")
    say("ask_human", "end", answer=answer)
    return {"messages": [AIMessage(id="ai-msg-3", content=f"Human said: {answer}")], "items": ["asked"]}


async def run_subgraph(state: State) -> dict[str, Any]:
    say("run_subgraph", "start")
    result = await sub.ainvoke({"messages": [], "note": ""})
    say("run_subgraph", "end")
    return {"messages": result["messages"], "items": ["sub"]}


# A model that streams, a tool call written by hand, a question, a subgraph called within a node.
approval = (
    StateGraph(State)
    .add_node("stream_message", stream_message)
    .add_node("call_tool", call_tool)
    .add_node("ask_human", ask_human)
    .add_node("run_subgraph", run_subgraph)
    .add_edge(START, "stream_message")
    .add_edge("stream_message", "call_tool")
    .add_edge("call_tool", "ask_human")
    .add_edge("ask_human", "run_subgraph")
    .compile()
)


@tool
async def search(query: str) -> str:
    """Searches."""
    return f"result for '{query}'"


async def agent(state: MessagesState) -> dict[str, Any]:
    call = {"name": "search", "args": {"query": "v3"}, "id": "tc-1"}
    return {"messages": [AIMessage(id="ai-tools-call", name="v3_tools_agent", content="", tool_calls=[call])]}


async def answer(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(id="ai-tools-final", name="v3_tools_agent", content="Done.")]}


# An agent's two nodes with a tool between them.
tools = (
    StateGraph(MessagesState)
    .add_node("agent", agent)
    .add_node("tools", ToolNode([search]))
    .add_node("answer", answer)
    .add_edge(START, "agent")
    .add_edge("agent", "tools")
    .add_edge("tools", "answer")
    .compile()
)


class Count(TypedDict, total=False):
    left: int
    pause: int
    texts: Annotated[list[str], operator.add]


async def count(state: Count) -> dict[str, Any]:
    left = state["left"]
    if left < 1:
        raise ValueError("There is nothing to count.")
    get_stream_writer()({"name": "count", "payload": left})
    await asyncio.sleep(state.get("pause", 0) / 1000)
    return {"left": left - 1, "texts": [str(left)]}


def further(state: Count) -> str:
    return "count" if state["left"] > 0 else END


# Counts down one number per step, with a pause before each.
counter = (
    StateGraph(Count)
    .add_node("count", count)
    .add_edge(START, "count")
    .add_conditional_edges("count", further, ["count", END])
    .compile()
)
