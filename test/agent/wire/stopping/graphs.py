"""The Python twin of graphs.js: graphs that record what they do."""

import asyncio
import json
import operator
import os
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from typing_extensions import TypedDict

PAUSE = 0.2


def write(journal: str, line: dict[str, Any]) -> None:
    processes = {"pid": os.getppid(), "runner": os.getpid()}
    with open(journal, "a") as lines:
        lines.write(f"{json.dumps({**processes, 'at': time.time() * 1000, **line})}\n")


class Count(TypedDict, total=False):
    journal: str
    gate: str
    done: Annotated[int, operator.add]


async def step(state: Count, config: RunnableConfig) -> Count:
    done = state.get("done", 0)
    write(state["journal"], {"run": config["configurable"]["run_id"], "step": done})
    get_stream_writer()({"step": done})
    await asyncio.sleep(PAUSE)
    return {"done": 1}


def further(state: Count) -> str:
    return END if os.path.exists(state["gate"]) else "step"


def builder() -> Any:
    return (
        StateGraph(Count)
        .add_node("step", step)
        .add_edge(START, "step")
        .add_conditional_edges("step", further, ["step", END])
    )


# Counts its steps, and records each as it begins, until the file `gate` is there.
counting = builder().compile()

# The same within a node.
nested = StateGraph(Count).add_node("inner", builder().compile()).add_edge(START, "inner").compile()


class Older(CompiledStateGraph):
    """Is called as graphs of an older LangGraph are, which know no stop between two steps."""

    async def astream(
        self, input: Any, config: Any = None, *, stream_mode: Any, subgraphs: bool, durability: Any
    ) -> AsyncIterator[Any]:
        async for chunk in super().astream(
            input, config, stream_mode=stream_mode, subgraphs=subgraphs, durability=durability
        ):
            yield chunk


older = builder().compile()
older.__class__ = Older


@tool
async def waiting(journal: str, config: RunnableConfig) -> str:
    """Waits until it is told to stop, and records when that was."""
    run = config["configurable"]["run_id"]
    write(journal, {"run": run, "says": "waits"})
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        write(journal, {"run": run, "says": "stops"})
        raise
    return ""


class Calling(MessagesState, total=False):
    journal: str


def model(state: Calling) -> dict[str, Any]:
    call = {"id": "one", "name": "waiting", "args": {"journal": state["journal"]}}
    return {"messages": [AIMessage(content="", tool_calls=[call])]}


# Calls the tool that waits.
calling = (
    StateGraph(Calling)
    .add_node("model", model)
    .add_node("tools", ToolNode([waiting]))
    .add_edge(START, "model")
    .add_edge("model", "tools")
    .compile()
)
