"""The Python twin of asking.ts: asks at once, and another question later; a step beside them takes its time."""

import asyncio
import operator
from typing import Annotated, Any

from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    pause: int
    later: int | None
    said: Annotated[list[str], operator.add]


def ask(state: State) -> dict[str, Any]:
    return {"said": [f"which: {interrupt('Which one?')}"]}


async def ask_later(state: State) -> dict[str, Any]:
    later = state.get("later")
    if later is None:
        return {}
    await asyncio.sleep(later / 1000)
    return {"said": [f"when: {interrupt('And when?')}"]}


async def linger(state: State) -> dict[str, Any]:
    await asyncio.sleep(state["pause"] / 1000)
    return {}


asking = (
    StateGraph(State)
    .add_node("ask", ask)
    .add_node("ask_later", ask_later)
    .add_node("linger", linger)
    .add_edge(START, "ask")
    .add_edge(START, "ask_later")
    .add_edge(START, "linger")
    .compile()
)
