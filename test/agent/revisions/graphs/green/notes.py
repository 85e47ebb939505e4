"""Asks for notes. Its reducer marks each with the revision that has added it."""

from typing import Annotated

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict


def added(before: list[str], after: list[str]) -> list[str]:
    return [*before, *(f"green: {note}" for note in after)]


class State(TypedDict):
    notes: Annotated[list[str], added]


def inquire(_: State) -> State:
    return {"notes": [interrupt("More?")]}


graph = StateGraph(State).add_node("inquire", inquire).add_edge(START, "inquire").add_edge("inquire", END)
