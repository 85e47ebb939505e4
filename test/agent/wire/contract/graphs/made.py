"""The Python twin of made.ts: a graph whose node is named by the call."""

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    size: str


def make(config: RunnableConfig) -> Any:
    size = config.get("configurable", {}).get("size", "small")
    return StateGraph(State).add_node(size, lambda _: {"size": size}).add_edge(START, size).add_edge(size, END)
