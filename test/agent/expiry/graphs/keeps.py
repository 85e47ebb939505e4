"""The Python twin of keeps.ts: keeps what was said, in its state and in the store."""

import operator
from typing import Annotated, Any

from langgraph.config import get_store
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    said: Annotated[list[str], operator.add]


async def keep(state: State) -> dict[str, Any]:
    await get_store().aput(("said",), "last", {"text": state["said"][-1]})
    return {}


graph = StateGraph(State).add_node("keep", keep).add_edge(START, "keep").add_edge("keep", END).compile()
