"""The Python twin of nested.ts: a graph with another one as its node."""

import operator
from typing import Annotated

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    path: Annotated[list[str], operator.add]


def deep(state: State) -> State:
    get_stream_writer()({"at": "deep"})
    return {"path": ["deep"]}


inner = StateGraph(State).add_node("deep", deep).add_edge(START, "deep").add_edge("deep", END).compile()

graph = (
    StateGraph(State)
    .add_node("first", lambda _: {"path": ["first"]})
    .add_node("sub", inner)
    .add_edge(START, "first")
    .add_edge("first", "sub")
    .add_edge("sub", END)
    .compile()
)
