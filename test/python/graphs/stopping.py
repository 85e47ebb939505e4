"""Graphs that count and record their steps until a file is there, in the words of test/agent/wire/stopping."""

import asyncio
import json
import operator
import os
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

PAUSE = 0.2


class Count(TypedDict, total=False):
    journal: str
    gate: str
    done: Annotated[int, operator.add]


async def step(state: Count, config: RunnableConfig) -> Count:
    done = state.get("done", 0)
    line = {"run": config["configurable"]["run_id"], "pid": os.getpid(), "at": time.time() * 1000, "step": done}
    with open(state["journal"], "a") as journal:
        journal.write(f"{json.dumps(line)}\n")
    get_stream_writer()({"step": done})
    await asyncio.sleep(PAUSE)
    return {"done": 1}


def further(state: Count) -> str:
    return END if os.path.exists(state["gate"]) else "step"


def builder() -> Any:
    return StateGraph(Count).add_node("step", step).add_edge(START, "step").add_conditional_edges("step", further, ["step", END])


counting = builder().compile()

# The same within a node.
nested = StateGraph(Count).add_node("inner", builder().compile()).add_edge(START, "inner").compile()


class Older(CompiledStateGraph):
    """Is called as graphs of an older LangGraph are, which know no stop between two steps."""

    async def astream(
        self, input: Any, config: Any = None, *, stream_mode: Any, subgraphs: bool, durability: Any
    ) -> AsyncIterator[Any]:
        async for chunk in super().astream(input, config, stream_mode=stream_mode, subgraphs=subgraphs, durability=durability):
            yield chunk


older = builder().compile()
older.__class__ = Older
