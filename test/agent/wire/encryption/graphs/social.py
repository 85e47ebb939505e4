"""The Python twin of social.ts: keeps a number that nobody may read, and asks for more of it where it is told to."""

from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt


class State(TypedDict, total=False):
    ssn: str
    asks: bool


async def keep(state: State) -> dict[str, Any]:
    return interrupt({"question": "And yours?"}) if state.get("asks") else {}


graph = StateGraph(State).add_node("keep", keep).add_edge(START, "keep").add_edge("keep", END).compile()
