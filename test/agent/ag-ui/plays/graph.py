"""The Python twin of graph.ts: a graph that plays what the last message of the user says: JSON, a list of acts."""

import json
import operator
import time
from collections.abc import Iterator
from typing import Annotated, Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, RemoveMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send, interrupt

Act = dict[str, Any]


class PlayingModel(BaseChatModel):
    act: Act

    @property
    def _llm_type(self) -> str:
        return "playing"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=""))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> Iterator[ChatGenerationChunk]:
        act = self.act
        thought, pieces, calls = act.get("thought", []), act.get("pieces", []), act.get("calls", [])
        identity = {"id": act["id"]} if "id" in act else {}
        chunks = [AIMessageChunk(content=[{"type": "reasoning", "reasoning": text, "index": 0}], **identity) for text in thought]
        for text in pieces:
            content: Any = [{"type": "text", "text": text, "index": 1}] if thought else text
            chunks.append(AIMessageChunk(content=content, **identity))
        for index, name, call_id, args in calls:
            named = {"name": name, "id": call_id} if name else {"name": None, "id": None}
            chunks.append(AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(index=index, args=args, **named)], **identity))
        for chunk in chunks:
            time.sleep(act.get("pause", 0) / 1000)
            yield ChatGenerationChunk(message=chunk)


class State(MessagesState, total=False):
    items: Annotated[list[str], operator.add]
    board: Any
    acts: list[Act]
    at: int


def hear(act: Act, config: RunnableConfig) -> BaseMessage:
    return PlayingModel(act=act).invoke("", config)


@tool
def search(query: str) -> str:
    """Searches."""
    return f"found {query}"


@tool
def broken(query: str) -> str:
    """Fails."""
    raise RuntimeError("The tool is away.")


@tool
def note(query: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Takes a note."""
    answer = ToolMessage(f"noted {query}", tool_call_id=tool_call_id)
    return Command(update={"items": [f"noted {query}"], "messages": [answer]})


def help_out(_: MessagesState, config: RunnableConfig) -> dict[str, Any]:
    return {"messages": [hear({"do": "say", "pieces": ["Let me ", "help."]}, config)]}


helper = (
    StateGraph(MessagesState)
    .add_node("help", help_out)
    .add_edge(START, "help")
    .compile()
    .with_config(metadata={"lc_agent_name": "helper"})
)


@tool
def delegate(query: str, config: RunnableConfig) -> str:
    """Asks the helper."""
    helper.invoke({"messages": [{"role": "user", "content": query}]}, config)
    return f"helped with {query}"


TOOLS = [search, broken, note, delegate]
tool_node = ToolNode(TOOLS, handle_tool_errors=True)


def of_server(call: Any) -> bool:
    return call["name"] in {one.name for one in TOOLS}


def begin(state: State) -> dict[str, Any]:
    last = state["messages"][-1] if state["messages"] else None
    return {"acts": json.loads(str(last.content)), "at": 0} if last is not None and last.type == "human" else {}


def current(state: State) -> Act:
    return state["acts"][state["at"]]


def follow(state: State) -> str | list[Send]:
    acts, at = state.get("acts", []), state.get("at", 0)
    if at >= len(acts):
        return END
    act = acts[at]
    if act["do"] == "fan":
        return [Send("branch", {"acts": [one], "at": 0}) for one in act["acts"]]
    return act["do"] if act["do"] in ("sub", "ask") else "act"


def play(state: State, config: RunnableConfig) -> dict[str, Any]:
    act, messages = current(state), state["messages"]
    target = messages[act.get("which", 0) % len(messages)] if messages else None
    words = "".join(act.get("pieces", []))
    match act["do"]:
        case "say" | "call":
            return {"messages": [hear(act, config)]}
        case "hum":
            hear(act, config)
        case "tell":
            return {"messages": [AIMessage(content=words, id=act.get("id"))]}
        case "drop":
            return {"messages": [RemoveMessage(id=str(target.id))]} if target else {}
        case "rewrite":
            return {"messages": [AIMessage(content=words, id=target.id)]} if target and target.type == "ai" else {}
        case "set":
            return {"items": act.get("items", []), **({"board": act["board"]} if "board" in act else {})}
        case "write":
            get_stream_writer()(act["board"])
        case "fail":
            if "pieces" in act:
                hear(act, config)
            raise RuntimeError("The play fails.")
    return {}


def use_tools(state: State, config: RunnableConfig) -> Any:
    last = state["messages"][-1]
    assert isinstance(last, AIMessage)
    asked = AIMessage(id=last.id, content=last.content, tool_calls=[call for call in last.tool_calls if of_server(call)])
    return tool_node.invoke({"messages": [asked]}, config)


def after_act(state: State) -> str:
    last = state["messages"][-1] if state["messages"] else None
    calls = last.tool_calls if current(state)["do"] == "call" and isinstance(last, AIMessage) else []
    return "tools" if any(of_server(call) for call in calls) else "advance"


def after_advance(state: State) -> str | list[Send]:
    calls = state["acts"][state["at"] - 1].get("calls", [])
    return END if any(name == "paint" for _, name, _, _ in calls) else follow(state)


def each(state: State, config: RunnableConfig) -> dict[str, Any]:
    return {"messages": [hear(act, config) for act in current(state)["acts"]]}


inner = StateGraph(State).add_node("each", each).add_edge(START, "each").compile()
PLACES = ["act", "branch", "ask", "sub", END]

plays = (
    StateGraph(State)
    .add_node("begin", begin)
    .add_node("act", play)
    .add_node("branch", lambda state, config: {"messages": [hear(current(state), config)]})
    .add_node("ask", lambda state: {"items": [f"answered {json.dumps(interrupt(current(state)['board']))}"]})
    .add_node("sub", inner)
    .add_node("tools", use_tools)
    .add_node("advance", lambda state: {"at": state["at"] + 1})
    .add_edge(START, "begin")
    .add_conditional_edges("begin", follow, PLACES)
    .add_conditional_edges("act", after_act, ["tools", "advance"])
    .add_edge("tools", "advance")
    .add_edge("branch", "advance")
    .add_edge("ask", "advance")
    .add_edge("sub", "advance")
    .add_conditional_edges("advance", after_advance, PLACES)
    .compile()
)
