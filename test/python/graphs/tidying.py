"""Graphs that use their checkpointer themselves."""

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict


class Task(TypedDict, total=False):
    does: str
    given: list[str]


async def tidy(state: Task, config: RunnableConfig) -> Task:
    saver: Any = config["configurable"]["__pregel_checkpointer"]
    given = state["given"]
    if state["does"] == "prune":
        await saver.aprune(given)
    elif state["does"] == "copy":
        await saver.acopy_thread(*given)
    elif state["does"] == "delete":
        await saver.adelete_for_runs(given)
    else:
        await saver.aprune(given, strategy=state["does"])
    return {}


tidies = StateGraph(Task).add_node("tidy", tidy).add_edge(START, "tidy").compile()
