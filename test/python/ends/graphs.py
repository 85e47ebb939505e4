"""Graphs that are stopped, hold the loop, or eat memory, and one that goes on beside them."""

import asyncio
import threading
import time

from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict


class Noted(TypedDict, total=False):
    note: str
    seconds: float


def _note(path: str) -> None:
    """Writes the time, and returns once it can be read as a whole."""
    with open(path, "a") as file:
        file.write(f"{time.time() * 1000}\n")


async def wait(state: Noted) -> Noted:
    _note(state["note"])
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        _note(state["note"])
        raise
    return {}


async def tick(state: Noted) -> Noted:
    try:
        while True:
            _note(state["note"])
            await asyncio.sleep(state["seconds"])
    except asyncio.CancelledError:
        _note(state["note"])
        raise


async def compute(state: Noted) -> Noted:
    _note(state["note"])
    until = time.monotonic() + state["seconds"]
    while time.monotonic() < until:
        sum(range(1000))
    return {}


async def sleep_in_the_loop(state: Noted) -> Noted:
    _note(state["note"])
    time.sleep(state["seconds"])
    return {}


async def eat(state: Noted) -> Noted:
    eaten = []
    while True:
        eaten.append(b"x" * 20_000_000)
        await asyncio.sleep(0.02)


waits = StateGraph(Noted).add_node("wait", wait).add_edge(START, "wait").compile()
ticks = StateGraph(Noted).add_node("tick", tick).add_edge(START, "tick").compile()
busy = StateGraph(Noted).add_node("compute", compute).add_edge(START, "compute").compile()
holds = StateGraph(Noted).add_node("sleep", sleep_in_the_loop).add_edge(START, "sleep").compile()
eats = StateGraph(Noted).add_node("eat", eat).add_edge(START, "eat").compile()


class Place(TypedDict, total=False):
    loop: str
    node: str


async def look_at_loop(state: Place) -> Place:
    await asyncio.sleep(0.2)
    return {"loop": threading.current_thread().name}


def look_at_node(state: Place) -> Place:
    return {"node": threading.current_thread().name}


where = (
    StateGraph(Place)
    .add_node("at_loop", look_at_loop)
    .add_node("at_node", look_at_node)
    .add_edge(START, "at_loop")
    .add_edge("at_loop", "at_node")
    .compile()
)
