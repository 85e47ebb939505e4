"""The Python twin of shows.ts: shows the configuration of its call."""

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    seen: dict[str, Any]


class Context(TypedDict, total=False):
    model: str
    tone: str


def _plain(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if not name.startswith("__")}


def look(state: State, config: RunnableConfig, runtime: Runtime[Context]) -> State:
    seen = {
        "configurable": _plain(config.get("configurable", {})),
        "metadata": _plain(config.get("metadata", {})),
        "context": runtime.context,
        "maxConcurrency": config.get("max_concurrency"),
    }
    return {"seen": {name: value for name, value in seen.items() if value is not None}}


graph = StateGraph(State, Context).add_node("look", look).add_edge(START, "look").add_edge("look", END).compile()
