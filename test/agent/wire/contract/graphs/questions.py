"""The Python twin of questions.ts: asks three questions in one step."""

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    answers: list[str]


def ask(state: State) -> State:
    return {"answers": [interrupt(question) for question in ("first", "second", "third")]}


graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").add_edge("ask", END)
