"""The Python twin of approval.ts: stops to ask a person, and goes on with the answer."""

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    request: str
    answer: str


def ask(state: State) -> State:
    return {"answer": interrupt({"question": f"May I {state.get('request')}?"})}


graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").add_edge("ask", END)
