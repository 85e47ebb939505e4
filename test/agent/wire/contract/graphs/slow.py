"""The Python twin of slow.ts: asks a person, and works for a while after a yes."""

import asyncio
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    request: str
    answer: str


def ask(state: State) -> State:
    return {"answer": interrupt({"question": f"May I {state.get('request')}?"})}


async def work(state: State) -> dict[str, Any]:
    if state["answer"] == "yes":
        await asyncio.sleep(30)
    return {}


graph = (
    StateGraph(State)
    .add_node("ask", ask)
    .add_node("work", work)
    .add_edge(START, "ask")
    .add_edge("ask", "work")
    .add_edge("work", END)
)
