"""Graphs for event streaming: the agents of the captured streams, and graphs that do other things."""

import operator
from typing import Annotated, Any

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, ToolRuntime
from langgraph.types import Command, Send, interrupt

from graphs.plain import slow


class Progress(MessagesState, total=False):
    value: str
    items: Annotated[list[str], operator.add]


class Note(MessagesState, total=False):
    note: str


def _say(step: str, phase: str, **more: Any) -> None:
    get_stream_writer()({"name": "progress", "step": step, "phase": phase, **more})


def _model(*answers: str) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter([AIMessage(content=answer) for answer in answers]))


async def _within(state: Note) -> dict[str, Any]:
    _say("sub_node", "start")
    _say("sub_node", "end")
    return {"messages": [AIMessage(id="sub-msg-1", content="from subgraph")], "note": "ran"}


_sub = StateGraph(Note).add_node("sub", _within).add_edge(START, "sub").compile()


async def stream_message(state: Progress) -> dict[str, Any]:
    _say("stream_message", "start")
    message = await _model("Hello, world!").ainvoke("hi")
    _say("stream_message", "end")
    return {"messages": [message], "value": "x", "items": ["streamed"]}


async def call_tool(state: Progress) -> dict[str, Any]:
    _say("call_tool", "start")
    _say("call_tool", "end")
    call = {"name": "search", "args": {"query": "v3"}, "id": "tc-1"}
    answer = ToolMessage(content="result for 'v3'", tool_call_id="tc-1")
    return {"messages": [AIMessage(id="ai-msg-2", content="", tool_calls=[call]), answer], "items": ["tool"]}


async def ask_human(state: Progress) -> dict[str, Any]:
    _say("ask_human", "start")
    answer = interrupt("Are we good?")
    _say("ask_human", "end", answer=answer)
    return {"messages": [AIMessage(id="ai-msg-3", content=f"Human said: {answer}")], "items": ["asked"]}


async def run_subgraph(state: Progress) -> dict[str, Any]:
    _say("run_subgraph", "start")
    result = await _sub.ainvoke({"messages": [], "note": ""})
    _say("run_subgraph", "end")
    return {"messages": result["messages"], "items": ["sub"]}


# A model that streams, a tool call written by hand, a question, a subgraph called within a node.
agent = (
    StateGraph(Progress)
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


async def decide(state: MessagesState) -> dict[str, Any]:
    call = {"name": "search", "args": {"query": "v3"}, "id": "tc-1"}
    return {"messages": [AIMessage(id="ai-tools-call", name="v3_tools_agent", content="", tool_calls=[call])]}


async def conclude(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(id="ai-tools-final", name="v3_tools_agent", content="Done.")]}


# An agent's two nodes with a tool between them.
tools_agent = (
    StateGraph(MessagesState)
    .add_node("agent", decide)
    .add_node("tools", ToolNode([search]))
    .add_node("answer", conclude)
    .add_edge(START, "agent")
    .add_edge("agent", "tools")
    .add_edge("tools", "answer")
    .compile()
)


_ANSWER = "v3 streaming is event-typed and thread-centric."


async def _research(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(id="res-1", name="researcher", content=_ANSWER)]}


_researcher = StateGraph(MessagesState).add_node("model", _research).add_edge(START, "model").compile()


@tool
async def task(description: str, subagent_type: str, runtime: ToolRuntime) -> Command[Any]:
    """Has a subagent work."""
    runtime.emit_output_delta("asks ")
    runtime.emit_output_delta({"agent": subagent_type})
    given = {"messages": [("human", description)]}
    found = await _researcher.ainvoke(given, {"metadata": {"lc_agent_name": subagent_type}})
    return Command(update={"messages": [ToolMessage(found["messages"][-1].content, tool_call_id=runtime.tool_call_id)]})


async def supervise(state: MessagesState) -> dict[str, Any]:
    if isinstance(state["messages"][-1], ToolMessage):
        return {"messages": [AIMessage(id="sup-2", name="v3_deep_agent", content="Done.")]}
    args = {"subagent_type": "researcher", "description": "research v3 streaming"}
    call = {"name": "task", "args": args, "id": "tc-task-1"}
    return {"messages": [AIMessage(id="sup-1", name="v3_deep_agent", content="", tool_calls=[call])]}


def to_tools(state: MessagesState) -> Any:
    calls = getattr(state["messages"][-1], "tool_calls", [])
    return [Send("tools", {"__type": "tool_call_with_context", "tool_call": call, "state": state}) for call in calls] or END


# An agent that calls another one by a tool.
deep_agent = (
    StateGraph(MessagesState)
    .add_node("model", supervise)
    .add_node("tools", ToolNode([task]))
    .add_edge(START, "model")
    .add_conditional_edges("model", to_tools, ["tools", END])
    .add_edge("tools", "model")
    .compile()
)


async def stream_itself(state: MessagesState) -> dict[str, Any]:
    parts = [part async for part in _model("Part by part").astream("hi")]
    return {"messages": [AIMessage(id=parts[0].id, content="".join(str(part.content) for part in parts))]}


# A model whose parts its node reads.
itself = StateGraph(MessagesState).add_node("stream_itself", stream_itself).add_edge(START, "stream_itself").compile()


# A graph that can only be stopped while its subgraph is under way.
patient = StateGraph(MessagesState).add_node("inner", slow).add_edge(START, "inner").compile()


async def write_cycle(state: Note) -> dict[str, Any]:
    cycle: dict[str, Any] = {}
    cycle["itself"] = cycle
    get_stream_writer()(cycle)
    return {"note": "ran"}


# A graph that streams data without a form in JSON.
cyclic = StateGraph(Note).add_node("write_cycle", write_cycle).add_edge(START, "write_cycle").compile()
