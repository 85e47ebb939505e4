"""The Python twin of counted.js: it counts down, and records each step as it begins. One of its steps may do harm."""

import asyncio
import ctypes
import json
import os
import time

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

SERVER = os.getppid()
# The step that does harm, by what is left. Others are stored before it and come behind it.
HARMFUL = 3


class Count(TypedDict, total=False):
    """What is left, and what the steps do."""

    left: int
    # Milliseconds.
    pause: int
    journal: str
    # How the run harms its process, which it does once: `mark` is the file that says so.
    harm: str
    mark: str


async def hold_in_c() -> None:
    """Holds the loop, and with the interpreter's lock all threads of the process."""
    ctypes.PyDLL(None).sleep(ctypes.c_uint(600))


async def eat_memory() -> None:
    """Takes a gigabyte a second without an end."""
    eaten = []
    while True:
        eaten.append(b"x" * 20_000_000)
        await asyncio.sleep(0.02)


HARMS = {"holds": hold_in_c, "eats": eat_memory}


async def step(state: Count, config: RunnableConfig) -> Count:
    """Counts one down."""
    at = {"run": config["configurable"]["run_id"], "attempt": config["metadata"]["run_attempt"], "left": state["left"]}
    line = {**at, "pid": SERVER, "runner": os.getpid(), "at": int(time.time() * 1000)}
    with open(state["journal"], "a") as journal:
        journal.write(f"{json.dumps(line)}\n")
    get_stream_writer()({"left": state["left"]})
    if state["left"] == HARMFUL and "harm" in state and not os.path.exists(state["mark"]):
        with open(state["mark"], "w"):
            pass
        await HARMS[state["harm"]]()
    await asyncio.sleep(state["pause"] / 1000)
    return {"left": state["left"] - 1}


def further(state: Count) -> str:
    """Returns the next step, if something is left."""
    return "step" if state["left"] > 0 else END


graph = (
    StateGraph(Count)
    .add_node("step", step)
    .add_edge(START, "step")
    .add_conditional_edges("step", further, ["step", END])
    .compile()
)
