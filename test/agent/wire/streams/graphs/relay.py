"""The Python twin of relay.ts: three models that stream, one after another, the second in a subgraph."""

from collections.abc import Callable
from typing import Any

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langgraph.graph import END, START, MessagesState, StateGraph


def says(text: str) -> Callable[[MessagesState], Any]:
    model = FakeListChatModel(responses=[text])

    async def say(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return say


inner = (
    StateGraph(MessagesState)
    .add_node("whisper", says("In the middle."))
    .add_edge(START, "whisper")
    .add_edge("whisper", END)
    .compile()
)

graph = (
    StateGraph(MessagesState)
    .add_node("begin", says("At first."))
    .add_node("middle", inner)
    .add_node("end", says("At last."))
    .add_edge(START, "begin")
    .add_edge("begin", "middle")
    .add_edge("middle", "end")
    .add_edge("end", END)
    .compile()
)
