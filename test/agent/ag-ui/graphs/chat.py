"""The Python twin of chat.ts: a chat whose model does what the last message of the user says."""

import asyncio
import json
import operator
import os
import re
from collections.abc import AsyncIterator
from typing import Annotated, Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.callbacks.manager import adispatch_custom_event
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt


def calls(*some: dict[str, Any]) -> AIMessageChunk:
    chunks = [tool_call_chunk(**{"name": None, "args": None, "id": None, **one}) for one in some]
    return AIMessageChunk(content="", tool_call_chunks=chunks)


def text(words: str) -> list[AIMessageChunk]:
    return [AIMessageChunk(content=word) for word in re.split(r"(?<= )", words) if word]


CALLS = [
    calls({"index": 0, "id": "call-a", "name": "search", "args": ""}),
    calls({"index": 1, "id": "call-b", "name": "search", "args": ""}),
    calls({"index": 0, "args": '{"query":'}),
    calls({"index": 1, "args": '{"query":"b'}),
    calls({"index": 0, "args": '"a"}'}),
    calls({"index": 1, "args": '"}'}),
]

THOUGHT = [
    AIMessageChunk(content=[{"type": "reasoning", "reasoning": "Let me ", "index": 0}]),
    AIMessageChunk(content=[{"type": "reasoning", "reasoning": "think.", "index": 0}]),
    AIMessageChunk(content=[{"type": "text", "text": "Four.", "index": 1}]),
]


def script(messages: list[BaseMessage]) -> list[AIMessageChunk]:
    last = messages[-1]
    if last.type == "tool":
        usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
        return [AIMessageChunk(content="Done.", usage_metadata=usage)]
    said = last.text if isinstance(last.text, str) else last.text()
    if "calls" in said:
        return CALLS
    if "think" in said:
        return THOUGHT
    if "paint" in said:
        return [calls({"index": 0, "id": f"paint-{len(messages)}", "name": "paint", "args": '{"colour":"red"}'})]
    if "predict" in said:
        return [
            calls({"index": 0, "id": f"write-{len(messages)}", "name": "write", "args": '{"text":'}),
            calls({"index": 0, "args": '"foretold"}'}),
        ]
    if "slow" in said:
        return text("slow " * (400 if "slow slow" in said else 12 if "a bit slow" in said else 40))
    return text(f"You said: {said}")


class ScriptedModel(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=""))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for message in script(messages):
            if message.content == "slow ":
                await asyncio.sleep(0.05)
                # A test sees by the length of the file whether the model still speaks.
                if beats := os.environ.get("GX_TEST_BEATS"):
                    with open(beats, "a") as file:
                        file.write(".")
            # Chunks are changed on their way.
            yield ChatGenerationChunk(message=message.model_copy(deep=True))


class State(MessagesState, total=False):
    items: Annotated[list[str], operator.add]
    note: str


@tool
def search(query: str) -> str:
    """Searches."""
    return f"found {query}"


async def say_by_hand(count: int, config: RunnableConfig) -> None:
    said: list[tuple[str, Any]] = [
        ("manually_emit_state", {"note": "halfway", "messages": []}),
        ("copilotkit_manually_emit_message", {"message_id": f"hand-{count}", "message": "Busy."}),
        ("manually_emit_tool_call", {"id": f"look-{count}", "name": "look", "args": '{"at":"x"}'}),
        ("gx.usage", {"model": "of-its-own", "input_tokens": 1}),
        ("anything", {"a": 1}),
    ]
    for name, payload in said:
        await adispatch_custom_event(name, payload, config=config)


PREDICTED = {"state_key": "note", "tool": "write", "tool_argument": "text"}


def read_page_metadata(said: str) -> dict[str, Any]:
    predicts = {"predict_state": [PREDICTED]} if "predict" in said else {}
    return {**predicts, **({"copilotkit:emit-messages": False} if "hidden" in said else {})}


async def speak(state: State, config: RunnableConfig) -> dict[str, Any]:
    last = state["messages"][-1] if state["messages"] else None
    said = "" if last is None else last.text if isinstance(last.text, str) else last.text()
    if "fail" in said:
        raise RuntimeError("The model is away.")
    get_stream_writer()({"name": "progress", "said": said})
    if "by hand" in said:
        await say_by_hand(len(state["messages"]), config)
    page: RunnableConfig = {**config, "metadata": {**config.get("metadata", {}), **read_page_metadata(said)}}
    answer = await ScriptedModel().ainvoke(state["messages"], page)
    items = [f"turn {len(state['messages'])}"]
    call = answer.tool_calls[0] if isinstance(answer, AIMessage) and answer.tool_calls else None
    if call is None or call["name"] != "write":
        return {"messages": [answer], "items": items}
    written = ToolMessage("Written.", tool_call_id=call["id"])
    return {"messages": [answer, written], "items": items, "note": call["args"]["text"]}


def calls_server_tool(state: State) -> str:
    last = state["messages"][-1]
    return "tools" if isinstance(last, AIMessage) and any(call["name"] == "search" for call in last.tool_calls) else "__end__"


chat = (
    StateGraph(State)
    .add_node("speak", speak)
    .add_node("tools", ToolNode([search]))
    .add_edge(START, "speak")
    .add_conditional_edges("speak", calls_server_tool, ["tools", "__end__"])
    .add_edge("tools", "speak")
    .compile()
)


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def ask(_: State) -> dict[str, Any]:
    answer = compact(interrupt({"message": "May I?", "reason": "approval", "options": ["yes", "no"]}))
    return {"messages": [AIMessage(id=f"told-{answer}", content=f"You said {answer}.")]}


def ask_too(_: State) -> dict[str, Any]:
    return {"items": [f"too: {compact(interrupt('And this?'))}"]}


def asks(state: State) -> list[str]:
    last = state["messages"][-1]
    return ["ask", "ask_too"] if "two" in str(last.content) else ["ask"]


approval = (
    StateGraph(State)
    .add_node("first", lambda _: {"note": "asks"})
    .add_node("ask", ask)
    .add_node("ask_too", ask_too)
    .add_edge(START, "first")
    .add_conditional_edges("first", asks, ["ask", "ask_too"])
    .compile()
)


def write(state: State) -> dict[str, Any]:
    return {"items": [f"item {len(state.get('items', []))}"], "note": f"{state.get('note', '')}!"}


shared = (
    StateGraph(State)
    .add_node("write", write)
    .add_node("again", lambda state: {"items": [f"item {len(state['items'])}"]})
    .add_edge(START, "write")
    .add_edge("write", "again")
    .compile()
)

paused = (
    StateGraph(State)
    .add_node("write", lambda _: {"items": ["written"]})
    .add_node("send", lambda _: {"items": ["sent"]})
    .add_edge(START, "write")
    .add_edge("write", "send")
    .compile(interrupt_before=["send"])
)


def call_delete(state: State) -> dict[str, Any]:
    count = len(state["messages"])
    asked: Any = {"id": f"delete-{count}", "name": "delete", "args": {"file": "a.txt"}}
    return {"messages": [AIMessage(id=f"asks-{count}", content="", tool_calls=[asked])]}


def review(state: State) -> dict[str, Any]:
    request = {"name": "delete", "args": {"file": "a.txt"}, "description": "May delete a.txt go?"}
    config = {"action_name": "delete", "allowed_decisions": ["approve", "reject"]}
    decisions = interrupt({"action_requests": [request], "review_configs": [config]})["decisions"]
    last = state["messages"][-1]
    assert isinstance(last, AIMessage)
    return {"messages": [ToolMessage(decisions[0]["type"], tool_call_id=last.tool_calls[0]["id"])]}


guarded = (
    StateGraph(State)
    .add_node("call", call_delete)
    .add_node("review", review)
    .add_edge(START, "call")
    .add_edge("call", "review")
    .compile()
)
