"""A graph beside a LangGraph that has no event streaming, as versions before 1.2."""

import sys
from typing import Any

from langgraph.graph import START, MessagesState, StateGraph

sys.modules["langgraph.stream"] = None  # type: ignore[assignment]


async def talk(state: MessagesState) -> dict[str, Any]:
    return {"messages": [("ai", "Hello")]}


older = StateGraph(MessagesState).add_node("talk", talk).add_edge(START, "talk").compile()
