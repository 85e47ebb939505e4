"""Functions that do not make a graph, each in its own way, and a state that can't be stored."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    fails: bool
    first: str
    last: Any


async def step(state: State) -> State:
    if state.get("fails"):
        raise ValueError("The node fails.")
    return {"first": "stored"}


graph = StateGraph(State).add_node("step", step).add_edge(START, "step").compile()


@contextlib.asynccontextmanager
async def enters() -> AsyncIterator[Any]:
    raise ConnectionError("nobody there")  # enters
    yield graph


@contextlib.contextmanager
def leaves() -> Iterator[Any]:
    try:
        yield graph
    finally:
        raise ConnectionError("gone")  # leaves


def number() -> Any:  # number
    return 7


@contextlib.contextmanager
def opens_nothing() -> Iterator[Any]:  # opens_nothing
    yield None


async def hangs() -> Any:  # hangs
    await asyncio.sleep(600)


def holds(config: RunnableConfig) -> Any:
    if config["configurable"]["__is_for_execution__"]:
        time.sleep(600)
    return graph


def greedy(one: Any, two: Any, three: Any) -> Any:  # greedy
    return graph


class Unstorable:
    pass


async def spoil(state: State) -> State:
    return {"last": Unstorable()}


spoils = (
    StateGraph(State)
    .add_node("step", step)
    .add_node("spoil", spoil)
    .add_edge(START, "step")
    .add_edge("step", "spoil")
    .compile()
)
