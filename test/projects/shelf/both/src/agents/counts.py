from typing_extensions import TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    count: int


graph = (
    StateGraph(State)
    .add_node("step", lambda state: {"count": state.get("count", 0) + 1})
    .add_edge(START, "step")
    .add_edge("step", END)
    .compile()
)
