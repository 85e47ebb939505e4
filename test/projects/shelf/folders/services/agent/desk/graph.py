import os
from typing_extensions import TypedDict

from common.wording import polite
from langgraph.graph import END, START, StateGraph
from plain_words import greeting


class State(TypedDict, total=False):
    name: str
    visits: int
    told: str


def greet(state: State) -> State:
    visits = state.get("visits", 0) + 1
    return {"visits": visits, "told": polite(f"{greeting} {state['name']}, visit {visits} at {os.environ.get('DESK', 'no desk')}")}


graph = StateGraph(State).add_node("greet", greet).add_edge(START, "greet").add_edge("greet", END).compile()
