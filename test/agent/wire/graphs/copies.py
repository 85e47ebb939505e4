"""The Python twin of copies.ts: says what it was told, with all files of it, and counts them."""

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph


class State(MessagesState, total=False):
    blocks: int


def copy(state: State) -> dict[str, Any]:
    content = state["messages"][-1].content
    return {"messages": [AIMessage(content=content)], "blocks": len(content)}


graph = StateGraph(State).add_node("copy", copy).add_edge(START, "copy").add_edge("copy", END).compile()
