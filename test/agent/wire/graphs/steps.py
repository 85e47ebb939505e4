"""The Python twin of steps.js: counts down one step at a time."""

import asyncio
import operator
from pathlib import Path
from typing import Annotated, Any

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    left: Any
    pause: Any
    journal: Any
    done: Annotated[int, operator.add]


async def step(state: State) -> dict[str, Any]:
    left = state.get("left", 0)
    await asyncio.sleep(state.get("pause", 0) / 1000)
    if journal := state.get("journal"):
        with Path(journal).open("a") as lines:
            lines.write(f"{left}\n")
    get_stream_writer()({"left": left})
    return {"left": left - 1, "done": 1}


def further(state: State) -> str:
    return "step" if state["left"] > 0 else END


graph = (
    StateGraph(State)
    .add_node("step", step)
    .add_edge(START, "step")
    .add_conditional_edges("step", further, ["step", END])
    .compile()
)
