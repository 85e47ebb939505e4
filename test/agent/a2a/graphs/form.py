"""The Python twin of form.ts: stops to ask two people at once, in words, and goes on with both answers."""

from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel


class State(BaseModel):
    request: str
    first: Any = None
    second: Any = None


def one(state: State) -> dict[str, Any]:
    return {"first": interrupt(f"One: may I {state.request}?")}


def other(state: State) -> dict[str, Any]:
    return {"second": interrupt(f"Other: may I {state.request}?")}


graph = (
    StateGraph(State)
    .add_node("one", one)
    .add_node("other", other)
    .add_edge(START, "one")
    .add_edge(START, "other")
    .add_edge("one", END)
    .add_edge("other", END)
)
