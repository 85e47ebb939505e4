"""Asks for notes. Its reducer marks each with the revision that has added it."""

import time
from typing import Annotated

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict


def marked(note: str) -> str:
    if note == "slow":
        # Blocks its thread for a while, so that the process can be killed meanwhile.
        time.sleep(4)
    return f"blue: {note}"


def added(before: list[str], after: list[str]) -> list[str]:
    return [*before, *map(marked, after)]


class State(TypedDict):
    notes: Annotated[list[str], added]


def ask(_: State) -> State:
    return {"notes": [interrupt("More?")]}


graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").add_edge("ask", END)
