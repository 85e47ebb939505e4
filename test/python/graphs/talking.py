"""Graphs that stream: tokens of a model, and data of their own."""

from typing import Any

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from typing_extensions import TypedDict


async def talk(state: MessagesState) -> dict[str, Any]:
    said = str(state["messages"][-1].content)
    model = GenericFakeChatModel(messages=iter([AIMessage(content=f"You wrote {said}", id=f"answer-{len(state['messages'])}")]))
    return {"messages": [await model.ainvoke(state["messages"])]}


chat = StateGraph(MessagesState).add_node("talk", talk).add_edge(START, "talk").compile()


class Numbers(TypedDict, total=False):
    events: int
    streamed: int


def stream(state: Numbers) -> Numbers:
    write = get_stream_writer()
    for number in range(state["events"]):
        write({"number": number, "text": "Grüße, 世界"})
    return {"streamed": state["events"]}


streams = StateGraph(Numbers).add_node("stream", stream).add_edge(START, "stream").compile()
