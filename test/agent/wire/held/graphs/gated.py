"""The Python twin of gated.ts: whoever leaves `enter` waits until the file exists that `gate` names."""

import asyncio
import operator
import os
from typing import Annotated, Literal

from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    gate: str
    seen: Annotated[list[str], operator.add]


async def opened(state: State) -> Literal["leave"]:
    gate = state.get("gate", "")
    while gate != "" and not os.path.exists(gate):
        await asyncio.sleep(0.02)
    return "leave"


graph = (
    StateGraph(State)
    .add_node("enter", lambda _: {"gate": "", "seen": ["entered"]})
    .add_node("leave", lambda state: {"seen": [f"{len(state['seen'])} before"]})
    .add_edge(START, "enter")
    .add_conditional_edges("enter", opened)
    .add_edge("leave", END)
)
