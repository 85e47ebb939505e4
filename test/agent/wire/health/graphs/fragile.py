"""The Python twin of fragile.ts: ends its runner, and leaves behind what keeps the graphs from being loaded again."""

import os
from pathlib import Path

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

file = Path(os.environ.get("BROKEN_WHILE_THERE", "nowhere"))
if file.exists():
    raise RuntimeError("this graph can not be loaded")


class State(TypedDict, total=False):
    ended: bool


def breaks(state: State, config: RunnableConfig) -> State:
    if config["metadata"]["run_attempt"] != 1:
        return {"ended": True}
    file.write_text("")
    os._exit(1)


graph = StateGraph(State).add_node("breaks", breaks).add_edge(START, "breaks").add_edge("breaks", END).compile()
