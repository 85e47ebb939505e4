"""The Python twin of who.ts: says who called it."""

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    said: str
    user: Any
    id: Any


def say(state: State, config: RunnableConfig) -> State:
    configurable = config.get("configurable", {})
    return {"user": configurable.get("langgraph_auth_user"), "id": configurable.get("langgraph_auth_user_id")}


graph = StateGraph(State).add_node("say", say).add_edge(START, "say").add_edge("say", END)
