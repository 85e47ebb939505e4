"""The graph of the benchmark in Python."""

import time
from typing import Any

from langgraph.graph import END, START, MessagesState, StateGraph


class State(MessagesState):
    started_at: float


async def answer(state: State) -> dict[str, Any]:
    """Repeats what it was told, and says when it was asked."""
    said = state["messages"][-1].content
    return {"started_at": time.time() * 1000, "messages": [{"role": "assistant", "content": f"echo: {said}"}]}


echo = StateGraph(State).add_node("answer", answer).add_edge(START, "answer").add_edge("answer", END).compile()
